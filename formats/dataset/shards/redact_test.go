package shards

import (
	"bytes"
	"context"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage"
)

// The value of ${TOKEN} is part of the identity and is not stored anywhere.
func TestSecretsInSettingsAreNotStored(t *testing.T) {
	uri := memory(t) + "/d"
	spec := manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories,
		Params: map[string]any{"command": []string{"agent", "--token=s3cr3t-s3cr3t"}, "short": "abc", "has": "abcd", "n": 4},
		Files:  map[string]string{"s3cr3t-s3cr3t/agent": "00"}}
	set := &secret.Set{}
	set.AddExpanded("TOKEN", "s3cr3t-s3cr3t", false)
	set.AddExpanded("SHORT", "abc", false)
	ctx := secret.With(context.Background(), set)
	s, err := Begin(ctx, uri, spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.build.Identity != spec.Identity() {
		t.Error("the identity is not that of the real text")
	}
	r, err := s.Commit(ctx, Outcome{})
	if err != nil || r.Sealed == nil {
		t.Fatal(r, err)
	}
	b, err := storage.Open(ctx, uri)
	if err != nil {
		t.Fatal(err)
	}
	for o, err := range b.List(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		data, err := b.Read(ctx, o.Key)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("s3cr3t")) {
			t.Errorf("%s holds the secret", o.Key)
		}
	}
	p := r.Sealed.Params
	if p["short"] != "[redacted:SHORT]" || p["has"] != "abcd" {
		t.Errorf("a short text is concealed where it stands alone, and nowhere else: %v", p)
	}
	if again, err := Begin(ctx, uri, spec, Options{}); err != nil || !again.UpToDate() {
		t.Errorf("the same spec is not up to date: %v", err)
	}
}
