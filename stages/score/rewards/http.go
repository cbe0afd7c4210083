package rewards

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/exchange"
	"github.com/rollmill/rollmill/storage/fault"
)

// HTTP gets rewards from a service: it posts the lines that a reward
// program reads (see package command) and reads the same answers.
//
//	http:https://rewards.example/score
//	http:version=2,https://rewards.example/score
//
// Scheme, host and port are not part of a dataset's identity: the service may
// move between two shards. Path and query are, because they name the reward.
// Rollmill cannot see that a service was changed: give another version, which
// may be any word, or stored scores count as up to date.
//
// A request's body is a line of JSON for each trajectory, score.Request, and the response's a
// line for each answer, score.Answer, in any order, matched by id; both are
// application/x-ndjson. The key in ROLLMILL_REWARD_API_KEY is sent as a bearer token, and is
// never part of the URL. The header Rollmill-Reward holds the reward's name.
//
// A busy service (429, 502, 503, 504) is asked again, after its own Retry-After or after growing
// waits. If a batch fails otherwise, or leaves rows without an answer, these rows are sent one
// by one: a row only fails alone. A service that cannot be reached at all ends the stage as
// temporary, and one that refuses everybody until a person mends something (401, 402, 403, 404)
// as stopped. A redirect is followed only to the same host and port, and as a POST.
var HTTP = score.RewardKind{
	Kind: plugin.Kind[score.RewardSettings]{
		Name: "http",
		Help: "post a line of JSON for each trajectory to a service, which answers with one",
		New:  func() score.RewardSettings { return &HTTPSettings{} },
	},
	Seeded: true,
	Decides: func(arguments string) string {
		a, err := remote.ParseAddress(arguments, httpKey)
		if err != nil {
			return arguments
		}
		return "version=" + a.Version + "," + a.Path()
	},
}

type HTTPSettings struct{ Address string }

func (s *HTTPSettings) Declare(d *plugin.Declarer) {
	d.String(&s.Address, "address",
		"post to this URL, `[version=V,]URL`; a service that changed needs another version").WholeSpec()
}

const httpKey = "ROLLMILL_REWARD_API_KEY"

const (
	maxLine     = 16 << 20
	maxResponse = 64 << 20
	maxTries    = 5
	first       = 200 * time.Millisecond // before the second try
)

type httpReward struct {
	score.Setup
	url     string
	service remote.Client
}

func (s *HTTPSettings) Reward(setup score.Setup) (score.Reward, error) {
	a, err := remote.ParseAddress(s.Address, httpKey)
	if err != nil {
		return nil, err
	}
	key := os.Getenv(httpKey)
	return &httpReward{Setup: setup, url: a.URL.String(),
		service: remote.Client{HTTP: remote.NewHTTP(64), MaxBytes: maxResponse, Explain: explain,
			Sign: func(r *http.Request) { remote.Authorize(r, key) }}}, nil
}

func (r *httpReward) Describe() score.Description {
	return score.Description{Detail: score.Text, Reads: r.Known, Unmetered: true}
}

func (r *httpReward) Close() error {
	r.service.HTTP.CloseIdleConnections()
	return nil
}

// Score sends all rows at once, and then those that got no answer one by one.
func (r *httpReward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	encode := func(row *score.Row) ([]byte, error) { return score.RequestLine(row, r.Name, r.Seed) }
	return exchange.Score(ctx, rows, values, encode, r.send)
}

// send posts rows, and settles those that are answered.
func (r *httpReward) send(ctx context.Context, batch exchange.Batch[[]byte]) (score.Value, error) {
	body := []byte{}
	for _, p := range batch {
		body = append(body, p.Request...)
	}
	answer, err := remote.Retry(ctx, maxTries, first, func() ([]byte, error) { return r.post(ctx, body) })
	status := remote.Status(err)
	var failed *remote.Error
	var late remote.LateError
	var large remote.TooLargeError
	switch {
	case ctx.Err() != nil:
		return score.Value{}, ctx.Err()
	case errors.As(err, &failed) && failed.Unsent:
		return score.Value{}, fault.Errorf(fault.Temporary, "check that the service runs, and the URL", "reward %q: %w",
			r.Name, err)
	case status == http.StatusTooManyRequests && failed.Retry, status == http.StatusBadGateway, status == http.StatusServiceUnavailable:
		return score.Value{}, fault.Errorf(fault.Temporary,
			"the service is busy or starts: look at its log, and run the same command again",
			"reward %q: %w", r.Name, err)
	case remote.MendOf(err) != "":
		return score.Value{}, remote.Refuses(remote.MendOf(err), httpKey, "reward %q: %q: %w", r.Name, r.url, err)
	case errors.As(err, &late):
		return score.Failed(outcomes.RewardTimeout, "%v", late), nil
	case errors.As(err, &large):
		return score.Failed(outcomes.RewardCrashed,
			"the response is longer than %d MiB; --batch-rows asks for fewer rows at once", maxResponse>>20), nil
	case status > 0:
		return score.Failed(outcomes.RewardError, "%v", err), nil
	case err != nil:
		return score.Failed(outcomes.RewardCrashed, "%v", err), nil
	}
	return read(answer, batch), nil
}

func (r *httpReward) post(ctx context.Context, body []byte) (answer []byte, err error) {
	_, err = r.service.Do(ctx,
		remote.Request{Method: http.MethodPost, URL: r.url, Header: http.Header{"Rollmill-Reward": {r.Name}},
			Body: bytes.NewReader(body), Size: int64(len(body)), Type: "application/x-ndjson",
			Limit: cmp.Or(r.Timeout, -1)}, &answer)
	return answer, err
}

// explain removes the address, which no row contains, and says which errors are temporary.
func explain(e *remote.Error, _ *http.Request, answer []byte) {
	e.What = ""
	if e.Status > 0 {
		e.What = fmt.Sprintf("HTTP %d: %s", e.Status, score.Quote(bytes.TrimSpace(answer)))
	}
	switch e.Status {
	case 0:
		e.Retry = e.Unsent
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		e.Retry = false
	}
}

// read settles the rows that a response answers. The value is why it does not answer the others.
func read(data []byte, batch exchange.Batch[[]byte]) score.Value {
	byID := batch.ByID()
	why := score.Failed(outcomes.RewardAnswer, "the service did not answer")
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		answer, err := score.ReadAnswer(lines.Bytes())
		if err == nil {
			_, err = exchange.Answer(byID, answer)
		}
		if err != nil {
			why = score.Failed(outcomes.RewardAnswer, "%v", err)
		}
	}
	if err := lines.Err(); err != nil {
		why = score.Failed(outcomes.RewardAnswer, "%v", err)
	}
	return why
}
