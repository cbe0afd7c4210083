package chat

import (
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
)

// number reads an index, if it is wanted.
func number(to *int32, wanted bool, key, v []byte) {
	if !wanted {
		return
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(v), ".0"), 10, 32)
	if err != nil || n < -1 {
		must.Fail("its %s is %s, not an index", key, importers.Brief(v))
	}
	*to = int32(n)
}
