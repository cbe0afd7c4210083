package hub_test

import (
	"testing"
	"time"

	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/hub"
)

func FuzzService(f *testing.F) {
	const (
		who = `{"name":"me","orgs":[{"name":"acme"}]}`
		rec = `{"submission":"token-1","run":"demo","epoch":2,"files":["data/x.parquet"],"policy_version":4}`
	)
	backendtest.FuzzAnswers(f, func() backends.Trainer {
		tr, err := hub.New(hub.Config{Endpoint: "http://hub.test", Repo: id, Settle: time.Nanosecond})
		if err != nil {
			f.Fatal(err)
		}
		return tr
	}, who, rec, who+"\x00{}\x00"+rec, who+"\x00{}\x00"+`[{"id":"0123456789abcdef","title":"token-1"}]`, `{"sha":"0123456789abcdef"}`, `{"error":"no"}`,
		"<html>", "null", "", "[[[")
}
