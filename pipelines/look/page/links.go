package page

import (
	"fmt"
	"net/url"
	"strings"
)

// Link returns the path of a page from its elements, such as "d", KEY, "g", GROUP.
// Elements from data may hold anything: see segment.
func Link(elements ...any) string {
	var b strings.Builder
	for _, e := range elements {
		text := fmt.Sprint(e)
		if strings.Trim(text, ".") == "" || text[0] == '~' { // a browser resolves . and .. even if they are escaped
			text = "~" + text
		}
		b.WriteString("/" + url.PathEscape(text))
	}
	return b.String()
}

// WithQuery returns a path with a query of names and values; values that are "" are left out.
func WithQuery(path string, pairs ...any) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" {
			values.Set(fmt.Sprint(pairs[i]), v)
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
