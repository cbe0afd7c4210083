package chat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// number reads an index, if it is wanted.
func number(to *int32, wanted bool, key, v []byte) error {
	if !wanted {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(v), ".0"), 10, 32)
	if err != nil || n < -1 {
		return fmt.Errorf("its %s is %s, not an index", key, importers.Brief(v))
	}
	*to = int32(n)
	return nil
}
