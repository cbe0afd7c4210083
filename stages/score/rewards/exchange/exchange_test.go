package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/exchange"
)

func rows(ids ...string) (out []*score.Row) {
	for _, id := range ids {
		out = append(out, &score.Row{Trajectory: &formats.Trajectory{TrajectoryID: id}})
	}
	return out
}

func encode(r *score.Row) (string, error) {
	if r.TrajectoryID == "broken" {
		return "", errors.New("not JSON")
	}
	return r.TrajectoryID, nil
}

// TestScore: rows without an answer are sent again one by one, and a row that cannot
// be encoded is not sent.
func TestScore(t *testing.T) {
	var sent []string
	values := make([]score.Value, 4)
	err := exchange.Score(t.Context(), rows("a", "broken", "dies", "b"), values, encode,
		func(_ context.Context, batch exchange.Batch[string]) (score.Value, error) {
			text := ""
			for _, p := range batch {
				text += p.Request + " "
			}
			sent = append(sent, text)
			if batch[0].Row.TrajectoryID == "dies" {
				return score.Failed(outcomes.RewardCrashed, "it died"), nil
			}
			first, err := exchange.Answer(batch.ByID(), score.Answer{ID: batch[0].Row.TrajectoryID, Value: score.Value{Reward: float64(len(sent))}})
			if !first || err != nil {
				t.Errorf("%v, %v", first, err)
			}
			return score.Failed(outcomes.RewardCrashed, "it died"), nil
		})
	want := "<nil> [a dies b  dies  b ] [{1 [] []     []} {0 [] [] error not JSON   []} {0 [] [] crashed it died   []} {3 [] []     []}]"
	if got := fmt.Sprint(err, " ", sent, " ", values); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestAnswer: only the first answer of a row counts, one for another row is an error,
// and shaped rewards must fit the sampled messages.
func TestAnswer(t *testing.T) {
	values := make([]score.Value, 1)
	err := exchange.Score(t.Context(), rows("a"), values, encode, func(_ context.Context, batch exchange.Batch[string]) (score.Value, error) {
		byID := batch.ByID()
		if _, err := exchange.Answer(byID, score.Answer{ID: "other"}); err == nil || err.Error() != `"other" is answered, which was not asked about` {
			t.Error(err)
		}
		for i, want := range []bool{true, false} {
			if first, err := exchange.Answer(byID, score.Answer{ID: "a", Value: score.Value{Reward: float64(i), Shaped: []float64{1}}}); first != want ||
				err != nil {
				t.Errorf("%v, %v", first, err)
			}
		}
		if left := batch.Unanswered(); len(left) != 0 {
			t.Errorf("%d unanswered", len(left))
		}
		return score.Value{}, nil
	})
	if err != nil || values[0].Error != "1 shaped rewards for 0 sampled messages" {
		t.Errorf("%v, %+v", err, values[0])
	}
}

// TestScoreEnds: an error of the transport ends the stage.
func TestScoreEnds(t *testing.T) {
	gone := errors.New("gone")
	send := func(context.Context, exchange.Batch[string]) (score.Value, error) { return score.Value{}, gone }
	if err := exchange.Score(t.Context(), rows("a", "b"), make([]score.Value, 2), encode, send); !errors.Is(err, gone) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := exchange.Score(ctx, rows("broken"), make([]score.Value, 1), encode, send); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
