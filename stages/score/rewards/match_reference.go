package rewards

import (
	"fmt"
	"math"
	"strings"

	"github.com/rollmill/rollmill/stages/score"
)

// fold applies the options for case and space.
func (s *MatchSettings) fold(text string) string {
	switch s.Space {
	case trim:
		text = strings.TrimSpace(text)
	case fold:
		text = strings.Join(strings.Fields(text), " ")
	}
	if s.Case == ignore {
		text = strings.ToLower(text)
	}
	return text
}

// references returns the texts, one of which has to match.
func (s *MatchSettings) references(row *score.Row) ([]string, error) {
	if s.Text != nil {
		return []string{*s.Text}, nil
	}
	field, err := row.Field(s.Field)
	if err != nil {
		return nil, err
	}
	list, ok := field.([]any)
	if !ok {
		list = []any{field}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the field %q is an empty list", s.Field)
	}
	out := make([]string, len(list))
	for i, v := range list {
		if n, is := v.(float64); is && s.Mode == number && math.Abs(n) > 1<<53 {
			return nil, fmt.Errorf("the field %q: a JSON number above 2^53 is not exact; write it as text", s.Field)
		}
		if out[i], err = score.FieldText(v); err != nil {
			return nil, fmt.Errorf("the field %q: %w", s.Field, err)
		}
	}
	return out, nil
}
