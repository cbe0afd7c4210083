// Package http rewards by a service: the lines that a reward program reads
// and writes (see package command), posted and answered.
//
//	http:https://rewards.example/score
//	http:version=2,https://rewards.example/score
//
// Where the service runs decides nothing: scheme, host and port are not part of
// what makes two score datasets the same, and the service may move between two
// shards. Which of its rewards is meant does, so path and query count. What
// cannot be seen from here is that the service was changed: then say another
// version, any word, or the scores stored before are taken for up to date.
//
// A request's body is a line of JSON for each trajectory, score.Request, and
// the response's a line for each answer, score.Answer, in any order, matched
// by id; both are application/x-ndjson. The key in ROLLMILL_REWARD_API_KEY is
// sent as a bearer token, and is never part of the URL. The header
// Rollmill-Reward holds the reward's name.
//
// A busy service (429, 502, 503, 504) is asked again, by its own Retry-After
// or after growing waits. When a batch fails otherwise, or leaves rows without
// an answer, these are asked about one by one: a row only fails alone. A
// service that cannot be reached at all ends the stage as temporary, and one
// that does not let us in (401, 403, 404) as failed.
package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/room"
	"github.com/rollmill/rollmill/stages/internal/web"
	"github.com/rollmill/rollmill/stages/score"
)

// Kind is the reward's entry in the registry.
var Kind = score.Kind{
	Name:   "http",
	Usage:  "[version=V,]URL; it is posted a line of JSON for each trajectory and responds with one, as a program of kind command does",
	Seeded: true,
	New:    newReward,
	Decides: func(arguments string) string {
		version, address := split(arguments)
		u, err := url.Parse(address)
		if err != nil {
			return arguments
		}
		decides := strings.TrimPrefix(u.EscapedPath(), "/")
		if u.RawQuery != "" {
			decides += "?" + u.RawQuery
		}
		return "version=" + version + ",/" + decides
	},
}

// split parts the version, "" when none is said, from the URL.
func split(arguments string) (version, address string) {
	if rest, ok := strings.CutPrefix(arguments, "version="); ok {
		version, address, _ = strings.Cut(rest, ",")
		return strings.TrimSpace(version), strings.TrimSpace(address)
	}
	return "", arguments
}

// secret is how parameters of a URL that are none of a manifest's business tend
// to be called.
var secret = regexp.MustCompile(`(?i)(key|token|secret|passw|signature|^sig$|auth)`)

const (
	maxLine     = 16 << 20
	maxResponse = 64 << 20
	smallAnswer = 1 << 20 // of which any number may be read at once
	maxTries    = 5
	first       = 200 * time.Millisecond // before the second try
)

type reward struct {
	score.Setup
	url    string
	key    string
	client *http.Client
}

func newReward(s score.Setup) (score.Reward, error) {
	version, address := split(s.Arguments)
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, err
	case version == "" && strings.HasPrefix(s.Arguments, "version="):
		return nil, errors.New("version= names none")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is not an http or https URL", address)
	case u.User != nil:
		return nil, errors.New("the URL holds a password: put a key into ROLLMILL_REWARD_API_KEY")
	}
	for name := range u.Query() {
		if secret.MatchString(name) {
			return nil, fmt.Errorf("the URL's parameter %q looks like a secret, and is kept with the scores: put a key into ROLLMILL_REWARD_API_KEY", name)
		}
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return &reward{Setup: s, url: u.String(), key: os.Getenv("ROLLMILL_REWARD_API_KEY"), client: &http.Client{Transport: t}}, nil
}

func (r *reward) Needs() score.Needs { return score.Text }
func (r *reward) Reads() []string    { return r.Earlier }

// Close ends the connections.
func (r *reward) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// ask is one row's question, and where its answer goes.
type ask struct {
	id    string
	line  []byte
	steps int
	value *score.Value
	done  bool
}

func (a *ask) settle(v score.Value) {
	if v.Failure == "" && v.Shaped != nil && len(v.Shaped) != a.steps {
		v = score.Failed(formats.RewardAnswer, "%d shaped rewards for %d sampled messages", len(v.Shaped), a.steps)
	}
	*a.value, a.done = v, true
}

// Score asks about all rows at once, and then about those that this left
// without an answer, one by one.
func (r *reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	asks := r.asks(rows, values)
	if len(asks) == 0 {
		return ctx.Err()
	}
	f, err := r.ask(ctx, asks)
	if err != nil {
		return err
	}
	for _, a := range asks {
		if a.done {
			continue
		}
		if len(asks) > 1 {
			if f, err = r.ask(ctx, []*ask{a}); err != nil {
				return err
			}
		}
		if !a.done {
			a.settle(f)
		}
	}
	return nil
}

func (r *reward) asks(rows []*score.Row, values []score.Value) []*ask {
	var asks []*ask
	for i, row := range rows {
		a := &ask{id: row.TrajectoryID, value: &values[i]}
		request, err := score.NewRequest(row, r.Name, r.Seed)
		if err == nil {
			a.line, err = json.Marshal(request)
		}
		if err != nil {
			a.settle(score.Failed(formats.RewardError, "%v", err))
			continue
		}
		a.line = append(a.line, '\n')
		for _, m := range request.Messages {
			if m.Sampled {
				a.steps++
			}
		}
		asks = append(asks, a)
	}
	return asks
}

// ask posts rows and settles those that are answered; the value is what became
// of the others. The error is of the stage.
func (r *reward) ask(ctx context.Context, asks []*ask) (score.Value, error) {
	body := []byte{}
	for _, a := range asks {
		body = append(body, a.line...)
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = first
	answer, err := backoff.Retry(ctx, func() ([]byte, error) { return r.post(ctx, body) },
		backoff.WithBackOff(wait), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(0))
	var status *statusError
	var dial *net.OpError
	switch {
	case ctx.Err() != nil:
		return score.Value{}, ctx.Err()
	case errors.As(err, &dial) && dial.Op == "dial":
		return score.Value{}, stages.Errorf(stages.KindTemporary, "is it running, and the URL right?", "reward %q: %w", r.Name, err)
	case errors.As(err, &status) && (status.code == 401 || status.code == 403 || status.code == 404):
		return score.Value{}, stages.Errorf(stages.KindFailed, "are the URL and ROLLMILL_REWARD_API_KEY right?", "reward %q: %w", r.Name, err)
	case errors.Is(err, context.DeadlineExceeded):
		return score.Failed(formats.RewardTimeout, "no answer within %s", r.Timeout), nil
	case errors.As(err, &status):
		return score.Failed(formats.RewardError, "%v", err), nil
	case err != nil:
		return score.Failed(formats.RewardCrashed, "%v", err), nil
	}
	return read(answer, asks), nil
}

// statusError is a response that is no answer.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.code, e.text) }

// post posts once; an error that may pass is not permanent.
func (r *reward) post(ctx context.Context, body []byte) ([]byte, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Rollmill-Reward", r.Name)
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
			return nil, err
		}
		return nil, backoff.Permanent(err)
	}
	defer resp.Body.Close()
	from, free := room.Reader(ctx, resp.Body, resp.ContentLength, smallAnswer, maxResponse)
	defer free()
	data, err := io.ReadAll(io.LimitReader(from, maxResponse+1))
	if err != nil {
		return nil, backoff.Permanent(fmt.Errorf("reading the response: %w", err))
	}
	if len(data) > maxResponse {
		return nil, backoff.Permanent(fmt.Errorf("the response is longer than %d MiB; --batch-rows asks for fewer rows at once", maxResponse>>20))
	}
	if resp.StatusCode/100 == 2 {
		return data, nil
	}
	err = &statusError{resp.StatusCode, score.Quote(bytes.TrimSpace(data))}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if wait, said := web.After(resp.Header, time.Now()); said {
			return nil, errors.Join(err, &backoff.RetryAfterError{Duration: wait})
		}
		return nil, err
	}
	return nil, backoff.Permanent(err)
}

// read settles the rows that a response answers. The value is why it does not
// answer the others.
func read(data []byte, asks []*ask) score.Value {
	open := make(map[string]*ask, len(asks))
	for _, a := range asks {
		open[a.id] = a
	}
	why := score.Failed(formats.RewardAnswer, "the service did not answer")
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		answer, err := score.ReadAnswer(lines.Bytes())
		a := open[answer.ID]
		switch {
		case err != nil:
			why = score.Failed(formats.RewardAnswer, "%v", err)
		case a == nil:
			why = score.Failed(formats.RewardAnswer, "%s is answered, which was not asked about", score.Quote([]byte(answer.ID)))
		case !a.done:
			a.settle(answer.Value)
		}
	}
	if err := lines.Err(); err != nil {
		why = score.Failed(formats.RewardAnswer, "%v", err)
	}
	return why
}
