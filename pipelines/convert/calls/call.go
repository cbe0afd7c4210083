package calls

import (
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
)

// Digest is 128 bits of a hash; zero for none.
type Digest struct{ Hi, Lo uint64 }

// Call is a row that is one request to a model with its answer, or without one if it failed.
// spill.Append and spill.Decode keep it; New computes again what they leave out.
type Call struct {
	Item importers.Item
	By   string          // the value of the field that names its attempt; "" for none
	Own  Digest          // of its id, else of its time, request and answer: equal in all copies and tries of it
	At   validate.Source // where it was read
}

// New returns the call that an item is. An error says why the item is not a single call.
func New(item importers.Item, by string, at validate.Source) (*Call, error) {
	return &Call{Item: item, By: by, At: at}, nil
}
