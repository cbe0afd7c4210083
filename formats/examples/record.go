package examples

import (
	"errors"

	"github.com/rollmill/rollmill/formats"
)

// record is a spooled row.
type record struct {
	content
	at span // where it is spooled
}

// content is an example, and what decides whether it is kept.
type content struct {
	formats.Example       // ID is "" when the row has none
	Refusals        []int // filters that would refuse it
}

var errRecord = errors.New("a spooled example is damaged")
