package redaction

import (
	"slices"
	"testing"
)

func TestInPath(t *testing.T) {
	const random, key = "9f8e7d6c5b4a3f2e1d0c", "sk-abcdefghijklmnop1234567890"
	for _, c := range []struct {
		address string
		random  bool
		want    []string
	}{
		{"http://host/" + random + "/v1", true, []string{random}},
		{"http://host/" + random + "/v1", false, nil},
		{"s3://bucket/" + key + "/epoch-0", false, []string{key}},
		{"http://host/v1/x" + random + "%2F1?a=b", true, []string{"x" + random + "/1", "x" + random + "%2F1"}},
		{"https://host/openai/deployments/gpt-4o-mini-2024-07-18/v1", true, nil},
		{"https://host/models/deepseekcoder33binstruct/meta-llama-3.1-405b-instruct", true, nil},
		{"https://host/v2/7b9f2c1e-3d4a-4f6b-8c2d-1e5f7a9b3c4d/v1", true, []string{"7b9f2c1e-3d4a-4f6b-8c2d-1e5f7a9b3c4d"}},
		{"http://" + random, true, nil},
		{"%zz", true, nil},
	} {
		if got := InPath(c.address, c.random); !slices.Equal(got, c.want) {
			t.Errorf("%s, %t: %q, want %q", c.address, c.random, got, c.want)
		}
	}
}
