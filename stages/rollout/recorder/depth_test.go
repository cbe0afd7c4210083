package recorder

import (
	"strings"
	"testing"
)

// Parts in parts are walked as deep as JSON is decoded elsewhere: a stack that
// overflows cannot be recovered.
func TestNestedPartsAreBounded(t *testing.T) {
	c := new(cursor).over([]byte(strings.Repeat(`{"content":[`, 4<<20)))
	if stripParts(c, view{}); !c.bad {
		t.Error("four million parts in each other are accepted")
	}
}
