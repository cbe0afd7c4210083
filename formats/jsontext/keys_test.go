package jsontext

import (
	"encoding/json"
	"testing"
)

func TestCheckKeys(t *testing.T) {
	type inner struct {
		Score *float64 `json:"score"`
	}
	type object struct {
		ID     string          `json:"id,omitempty"`
		Raw    json.RawMessage `json:"raw"`
		Inner  *inner          `json:"inner"`
		Inners []inner         `json:"inners"`
		Other  string
	}
	for text, want := range map[string]string{
		`{"id":"a","raw":{"id":1,"ID":2,"id":3},"more":1,"More":2,"more":3,"other":1}`: "",
		`{"id":"a","\u0069d":"b"}`:                        `the key "id" is there twice`,
		`{"ID":"a"}`:                                      `the key "ID" has to be written "id"`,
		`{"id":"a","Id":"b"}`:                             `the key "Id" has to be written "id"`,
		`{"inner":{"score":1,"score":2}}`:                 `the key "score" is there twice`,
		`{"inners":[{"score":1},{"ſcore":2}]}`:            `the key "ſcore" has to be written "score"`,
		`{"inners":[{"score":1},{"score":2}],"inner":[]}`: "",
		`[]`:   "",
		`null`: "",
	} {
		for _, v := range []any{object{}, &object{}} {
			got := ""
			if err := CheckKeys([]byte(text), v); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
	}
}
