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
	"github.com/rollmill/rollmill/formats/validate"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/hfhub"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

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
