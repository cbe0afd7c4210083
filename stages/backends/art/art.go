// Package art trains on an OpenPipe ART control server (`art run`) over HTTP:
// it registers the model, makes the server ready, streams a batch to it and
// reads the metrics of the gradient steps while it trains.
//
// Servers of the legacy dialect, 0.3 to 0.5.1, train on what was sampled. From 0.5.2 to 0.5.17
// they drop the token ids and logprobs on arrival: they are refused by name before anything is
// sent, unless the config's own switch, dev_config.allow_training_without_logprobs, asks for
// training on the text alone. Later ones have no training over HTTP; for those
// rollmill.art of the Python package calls the library in process. The form of a batch is
// defined in formats/foreign/art.
//
// The one request that cannot be undone is POST /_train_model. The server can act once the last
// byte of its body has arrived; the ledger is read again right before that byte.
//
//	what is seen of it                         what it proves             outcome
//	an error before the last byte was sent     no training                clean: failed, may be sent again
//	400, 401, 403, 404, 405 or 422 with        the server refused it      clean, if the step stands still
//	{"detail": ...}                            before training
//	200, all lines, the step is higher         trained                    completed
//	200, no gradient steps                     nothing to train on        untrained
//	the step is one higher, and either         trained, by the one owner  completed
//	gradient steps were seen or preflight
//	counted tokens that ART trains on
//	the step is one higher, and neither        nothing: ART 0.4 advances  unknown: a person decides (exit 6)
//	                                           it without training
//	the step stands still, whatever the        nothing: a proxy may have  unknown, and submit looks again for
//	answer was (every other refusal, cut       answered for a server      as long as --stall-timeout
//	off, or none)                              that trains on
//
// A server that reports by its own route that it trains atomically is asked instead, whatever
// the answer was. The other requests may be repeated: they register the model, make the server
// ready, read the step, or delete old checkpoints.
//
// To support another dialect: add its detection to dialect.go, and a switch to
// arttest, the test server that tests every guarantee.
package art

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Trainer is a backends.Trainer. It is safe for concurrent use, but a server
// trains one batch of a model at a time.
type Trainer struct {
	cfg  Config
	base string // http://host:port
	http *http.Client
}

// New checks the config and fills in its defaults. Nothing is contacted.
func New(cfg Config) (*Trainer, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &Trainer{
		cfg:  cfg,
		base: "http://" + net.JoinHostPort(reachable(cfg.IP), strconv.Itoa(cfg.Port)),
		// No keep-alive between requests: a request that is never sent twice
		// must not meet a connection that is just being closed.
		http: remote.Staying(&http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
			DialContext: dialer.DialContext, DisableKeepAlives: true}}),
	}, nil
}

// reachable returns an address that reaches a server which listens on all interfaces.
func reachable(host string) string {
	if host == "" || host == "0.0.0.0" || host == "::" {
		return "127.0.0.1"
	}
	return host
}

// Target names the server, unless the config gives it a name of its own.
func (t *Trainer) Target() receipts.Target {
	address := cmp.Or(t.cfg.Target, strings.ToLower(t.base))
	return receipts.Target{Backend: "art", Address: address, Model: t.cfg.Project + "/" + t.cfg.Name}
}

// Begin registers the model, starts the inference server unless it still serves
// the known policy, and reads the step.
func (t *Trainer) Begin(ctx context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	d, err := t.trainable(ctx)
	if err != nil {
		return backends.TrainerState{}, err
	}
	if err := t.call(ctx, quick, "/register", t.cfg.model(), nil); err != nil {
		return backends.TrainerState{}, err
	}
	step, err := t.step(ctx)
	if err != nil {
		return backends.TrainerState{}, err
	}
	names := d.policyModels(t.cfg.Name, step)
	policy := receipts.Policy{Version: step}
	if known != nil && slices.Contains(names, known.Model) && known.Version == step &&
		t.serves(ctx, known.URL, known.Model) != "" {
		policy.URL, policy.Model = known.URL, known.Model
		return backends.TrainerState{Step: &step, Policy: &policy}, nil
	}
	if policy.URL, err = t.prepare(ctx); err != nil {
		return backends.TrainerState{}, err
	}
	if policy.Model = t.serves(ctx, policy.URL, names...); policy.Model == "" {
		policy.Model = names[0]
	}
	return backends.TrainerState{Step: &step, Policy: &policy}, nil
}

func (t *Trainer) prepare(ctx context.Context) (string, error) {
	config := map[string]any{}
	if args := t.cfg.serverArgs(); len(args) > 0 {
		config["server_args"] = args
	}
	body := map[string]any{"model": t.cfg.model(), "config": config}
	var answer []string
	if err := t.call(ctx, slow, "/_prepare_backend_for_training", body, &answer); err != nil {
		return "", err
	}
	if len(answer) != 2 {
		return "", &Error{What: fmt.Sprintf("preparing ART at %q: the answer has %d parts, not a URL and a key", t.base,
			len(answer))}
	}
	redaction.AddInPath(secret.From(ctx), "policy", answer[0], true)
	return t.visible(answer[0])
}

// visible replaces the listening address of the inference server by one that
// reaches it from here.
func (t *Trainer) visible(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", &Error{What: fmt.Sprintf("preparing ART at %q: inference URL %q", t.base, base), Err: err}
	}
	u.User, u.RawQuery, u.Fragment = nil, "", "" // the URL is written into receipts
	control, _ := url.Parse(t.base)
	port := u.Port()
	switch host := u.Hostname(); host {
	case "", "0.0.0.0", "::", "localhost", "127.0.0.1", "::1":
		u.Host = control.Hostname()
		if strings.Contains(u.Host, ":") {
			u.Host = "[" + u.Host + "]"
		}
		if port != "" {
			u.Host += ":" + port
		}
	}
	u.Scheme = cmp.Or(u.Scheme, "http")
	return strings.TrimSuffix(u.String(), "/"), nil
}

func (t *Trainer) step(ctx context.Context) (int64, error) {
	var step *int64
	if err := t.call(ctx, quick, "/_get_step", t.cfg.model(), &step); err != nil {
		return 0, err
	}
	if step == nil {
		return 0, &Error{What: fmt.Sprintf("asking ART at %q for the step: the answer is null", t.base)}
	}
	return *step, nil
}

// serves returns the first of the names that the inference server lists; "" if
// it lists none, or does not answer.
func (t *Trainer) serves(ctx context.Context, url string, names ...string) string {
	var list struct {
		Data []struct{ ID string } `json:"data"`
	}
	if t.get(ctx, strings.TrimSuffix(url, "/")+"/models", t.cfg.APIKey, &list) != nil {
		return ""
	}
	for _, name := range names {
		for _, m := range list.Data {
			if m.ID == name {
				return name
			}
		}
	}
	return ""
}

// state asks a server that trains atomically about a submission; nil if the
// server does not train atomically.
func (t *Trainer) state(ctx context.Context, token string) (*art.TrainingState, error) {
	q := url.Values{"model": {t.cfg.Name}, "project": {t.cfg.Project}, "submission": {token}}
	var s art.TrainingState
	err := t.get(ctx, t.base+art.TrainingRoute+"?"+q.Encode(), "", &s)
	if remote.Status(err) == http.StatusNotFound {
		return nil, nil
	}
	if err != nil || !s.Atomic {
		return nil, err
	}
	return &s, nil
}
