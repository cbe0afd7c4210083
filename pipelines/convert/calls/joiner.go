package calls

import (
	"context"
	"iter"

	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// Options decide how calls are joined.
type Options struct {
	ByTime bool   // decide by time which of several equal answers a call continues
	Dir    string // of temporary files; "": the system's
	Memory int64  // bytes, beyond which they are used
}

// Joiner links calls to conversations. It is for one goroutine, and must be closed.
type Joiner struct {
	o Options
}

// NewJoiner returns a joiner without calls.
func NewJoiner(o Options) *Joiner { return &Joiner{o: o} }

// Add adds a call that New made.
func (j *Joiner) Add(c *Call) error { return nil }

// Conversations yields the conversations in order of their first calls' times. Nothing can be added after it.
func (j *Joiner) Conversations(ctx context.Context) iter.Seq2[*Conversation, error] {
	return func(func(*Conversation, error) bool) {}
}

// Counts says what was joined; it is complete when Conversations has ended.
func (j *Joiner) Counts() Counts { return Counts{} }

// Close removes what was spilled.
func (j *Joiner) Close() error { return nil }

// Counts are numbers of calls and conversations.
type Counts struct {
	Calls         int64 `json:"calls"`         // as they came
	Copies        int64 `json:"copies"`        // of calls that came before, or tries of them
	Conversations int64 `json:"conversations"` // that are not ambiguous calls
	Ambiguous     int64 `json:"ambiguous"`     // calls
	Gaps          int64 `json:"gaps"`          // conversations that begin after a call that is missing
}

// Conversation is the calls of one trajectory.
type Conversation struct {
	ID    string  // a digest of the calls' own, whatever their order
	Calls []*Call // in order of time, each once
	Class string  // why it is a failed row: a class of failures, or ""
}

// Item builds the trajectory.
func (c *Conversation) Item() (importers.Item, error) { return importers.Item{}, nil }
