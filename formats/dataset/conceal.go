package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

type concealedKey struct{}

// shortest is the length from which a text is concealed inside longer ones; a
// shorter one would be found where it only happens to stand.
const shortest = 8

// WithConcealed has texts replaced wherever they stand in the parameters and
// file names of the datasets begun with the context: by what they are called,
// as in {"s3cr3t": "${TOKEN}"}. The identity is that of the real text.
func WithConcealed(ctx context.Context, texts map[string]string) context.Context {
	return context.WithValue(ctx, concealedKey{}, texts)
}

// conceal returns the spec as it may be stored.
func (s Spec) conceal(ctx context.Context) Spec {
	texts, _ := ctx.Value(concealedKey{}).(map[string]string)
	if len(texts) == 0 {
		return s
	}
	c := concealer{texts, slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})}
	if s.Params != nil {
		dec := json.NewDecoder(bytes.NewReader(encode(s.Params)))
		dec.UseNumber()
		var params map[string]any
		if dec.Decode(&params) == nil {
			s.Params = c.value(params).(map[string]any)
		}
	}
	files := make(map[string]string, len(s.Files))
	for name, digest := range s.Files {
		files[c.text(name)] = digest
	}
	if s.Files != nil {
		s.Files = files
	}
	return s
}

type concealer struct {
	texts map[string]string
	order []string // longest first
}

func (c concealer) value(v any) any {
	switch v := v.(type) {
	case string:
		return c.text(v)
	case []any:
		for i := range v {
			v[i] = c.value(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = c.value(v[k])
		}
	}
	return v
}

func (c concealer) text(s string) string {
	for _, secret := range c.order {
		switch {
		case s == secret:
			return c.texts[secret]
		case len(secret) >= shortest:
			s = strings.ReplaceAll(s, secret, c.texts[secret])
		}
	}
	return s
}
