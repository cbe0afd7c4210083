// Package customizer trains on NVIDIA NeMo Customizer, by the HTTP API of the NeMo Microservices
// 25.x: it puts a batch into the Data Store by one commit, registers it in the Entity Store,
// makes a job, follows it, and, if configured, starts a NIM for the result. The lines are
// defined in formats/foreign/finetune. The later NeMo Platform has another API and is refused by
// name.
//
// A dataset is named after its content, so no job ever trains on the files of
// another. A job has the submission's token in its name and its custom fields,
// so that a job whose sender died is found by listing.
//
// The one request that cannot be undone is POST /v1/customization/jobs. Right
// before it the jobs are listed and the ledger is read again. The API documents
// no idempotency key; the request has the token as one all the same, and is
// never repeated. backends.Jobs says what each answer to it proves.
//
// A commit of the Data Store, the dataset's record and a deployment train
// nothing and may be repeated.
//
// Each job trains the configuration's base model from the start, whatever the epoch.
//
// To support a newer release: add a switch to customizertest, the test server,
// and a hyperparameter to the table in hyperparameters.go.
package customizer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"github.com/rollmill/rollmill/formats/validate"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/hfhub"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// Trainer is a backends.Trainer.
type Trainer struct {
	cfg    Config
	entity *remote.Client
	store  *hfhub.Client
	tables formats.Tables

	accepted validate.Accepted
}

// New checks the config. Nothing is contacted.
func New(cfg Config) (*Trainer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := &Trainer{cfg: cfg, store: hfhub.New("customizer", cfg.DatastoreURL+"/v1/hf", cfg.DatastoreToken)}
	t.store.Help = "the Data Store's token: NEMO_DATASTORE_TOKEN"
	t.entity = &remote.Client{Name: "customizer", Secrets: []string{cfg.APIKey, cfg.WandBKey, cfg.DatastoreToken},
		Sign: bearer(cfg.APIKey), Explain: explain}
	return t, nil
}

func bearer(key string) func(*http.Request) {
	return func(r *http.Request) { remote.Authorize(r, key) }
}

func explain(e *remote.Error, _ *http.Request, _ []byte) {
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		e.Help, e.Usage = "the gateway requires a key: put it into NEMO_API_KEY", true
	}
}

// at returns the URL of a route of the Entity Store; parts are escaped.
func (t *Trainer) at(route string, parts ...string) string {
	for _, p := range parts {
		for one := range strings.SplitSeq(p, "/") { // an id is two segments
			route += "/" + url.PathEscape(one)
		}
	}
	return t.cfg.EntityURL + "/v1/" + route
}

// Target is the service and what it trains by which method.
func (t *Trainer) Target() receipts.Target {
	return receipts.Target{Backend: "customizer", Address: t.cfg.EntityURL,
		Model: t.cfg.Config + ":" + t.cfg.TrainingType + ":" + t.cfg.FinetuningType}
}

// configuration describes what may be trained, and how.
type configuration struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Target    json.RawMessage `json:"target"` // a name, or an object with one
	Options   []option        `json:"training_options"`
	MaxLength *int64          `json:"max_seq_length"`
}

type option struct {
	TrainingType   string `json:"training_type"`
	FinetuningType string `json:"finetuning_type"`
	MicroBatch     *int64 `json:"micro_batch_size"`
	DataParallel   *int64 `json:"data_parallel_size"`
}

func (c configuration) id() string { return strings.TrimPrefix(c.Namespace+"/"+c.Name, "/") }

func (c configuration) model() string {
	var object struct{ Name, Namespace string }
	var name string
	if json.Unmarshal(c.Target, &name) != nil && json.Unmarshal(c.Target, &object) == nil {
		name = strings.TrimPrefix(object.Namespace+"/"+object.Name, "/")
	}
	name, _, _ = strings.Cut(cmp.Or(name, c.id()), "@")
	return name
}

// configuration finds the configured one, and checks that it supports the settings.
func (t *Trainer) configuration(ctx context.Context) (c configuration, err error) {
	if t.cfg.DatastoreURL == "" {
		return c, bad("name it: --datastore-url http://data-store.test", "no address of the Data Store")
	}
	var names []string
	found := false
	err = each(ctx, t, t.at("customization/configs"), func(one configuration) bool {
		names = append(names, one.id())
		if found = t.cfg.Config == one.id() || t.cfg.Config == one.Name; found {
			c = one
		}
		return !found
	})
	switch {
	case remote.Status(err) == http.StatusNotFound:
		return c, bad("check --entity-url. The NeMo Platform, the successor of the 25.x microservices, has another API",
			"%s has no /v1/customization/configs", t.cfg.EntityURL)
	case err != nil:
		return c, err
	case !found:
		return c, bad(fmt.Sprintf("it has %s", strings.Join(names, ", ")), "%s has no customization configuration %q",
			t.cfg.EntityURL, t.cfg.Config)
	}
	return c, t.fits(c)
}

func (t *Trainer) fits(c configuration) error {
	var offers []string
	for _, o := range c.Options {
		if o.TrainingType == t.cfg.TrainingType && o.FinetuningType == t.cfg.FinetuningType {
			size := t.cfg.whole("batch_size")
			if o.MicroBatch != nil && o.DataParallel != nil && *o.MicroBatch**o.DataParallel > 0 &&
				size%(*o.MicroBatch**o.DataParallel) != 0 {
				return bad("", "batch_size %d cannot be divided into micro batches of %d on %d devices", size, *o.MicroBatch,
					*o.DataParallel)
			}
			return nil
		}
		offers = append(offers, o.TrainingType+" of "+o.FinetuningType)
	}
	return bad("it offers "+strings.Join(offers, ", ")+": --training-type, --finetuning-type",
		"the configuration %q does not train %s of %s", t.cfg.Config, t.cfg.TrainingType, t.cfg.FinetuningType)
}

// Begin reads the configuration, and makes the namespaces.
func (t *Trainer) Begin(ctx context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	c, err := t.configuration(ctx)
	if err != nil {
		return backends.TrainerState{}, err
	}
	if err := t.namespaces(ctx); err != nil {
		return backends.TrainerState{}, err
	}
	if known == nil && t.cfg.NIMURL != "" {
		known = &receipts.Policy{URL: t.cfg.NIMURL + "/v1", Model: c.model()}
	}
	return backends.TrainerState{Policy: known}, nil
}

// namespaces makes the namespace in both stores, unless it exists.
func (t *Trainer) namespaces(ctx context.Context) error {
	name := t.cfg.Namespace
	entity := func() error {
		return t.entity.Post(ctx, t.at("namespaces"), map[string]string{"id": name}, nil)
	}
	if err := t.ensure(ctx, t.entity, t.at("namespaces", name), entity); err != nil {
		return err
	}
	web := t.datastore()
	return t.ensure(ctx, web, t.storeNamespace(), func() error {
		form := url.Values{"namespace": {name}}.Encode()
		_, err := web.Do(ctx, remote.Request{Method: http.MethodPost, URL: t.cfg.DatastoreURL + storeNamespaces,
			Type: "application/x-www-form-urlencoded", Body: strings.NewReader(form), Size: int64(len(form))}, nil)
		return err
	})
}

const storeNamespaces = "/v1/datastore/namespaces"

func (t *Trainer) storeNamespace() string {
	return t.cfg.DatastoreURL + storeNamespaces + "/" + url.PathEscape(t.cfg.Namespace)
}

func (t *Trainer) datastore() *remote.Client {
	return &remote.Client{Name: "customizer", Secrets: []string{t.cfg.DatastoreToken}, Sign: bearer(t.cfg.DatastoreToken)}
}

// ensure makes an object if it does not exist. A refusal may mean that it
// exists by now, or that it cannot be made: only another look shows which.
func (t *Trainer) ensure(ctx context.Context, web *remote.Client, at string, make func() error) error {
	err := web.Get(ctx, at, nil)
	if remote.Status(err) != http.StatusNotFound {
		return err
	}
	err = make()
	if code := remote.Status(err); code == http.StatusConflict || code == http.StatusUnprocessableEntity {
		if web.Get(ctx, at, nil) == nil {
			return nil
		}
	}
	return err
}

const pageSize = 100

// each reads the pages of a list until f has seen enough. Not every release
// reports the number of pages.
func each[T any](ctx context.Context, t *Trainer, at string, f func(T) (more bool)) error {
	mark := "?"
	if strings.Contains(at, "?") {
		mark = "&"
	}
	var before []byte
	for page := 1; ; page++ {
		var answer struct {
			Data       json.RawMessage `json:"data"`
			Pagination struct {
				Pages *int `json:"total_pages"`
				Size  *int `json:"page_size"`
			} `json:"pagination"`
		}
		if err := t.entity.Get(ctx, fmt.Sprintf("%s%spage=%d&page_size=%d", at, mark, page, pageSize), &answer); err != nil {
			return err
		}
		var data []T
		if err := json.Unmarshal(answer.Data, &data); err != nil {
			return &remote.Error{What: "customizer: the list at " + at, Err: err}
		}
		if len(data) == 0 || slices.Equal(before, answer.Data) { // a list without pages is the same each time
			return nil
		}
		before = answer.Data
		for _, one := range data {
			if !f(one) {
				return nil
			}
		}
		if n := answer.Pagination.Pages; n != nil && page >= *n {
			return nil
		}
	}
}
