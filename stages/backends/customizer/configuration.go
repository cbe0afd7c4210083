package customizer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

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
