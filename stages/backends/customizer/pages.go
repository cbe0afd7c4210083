package customizer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/stages/internal/remote"
)

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
