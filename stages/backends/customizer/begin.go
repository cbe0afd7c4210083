package customizer

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

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
