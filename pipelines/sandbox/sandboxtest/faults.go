package sandboxtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// The kinds of faults. A training call has Status alone.
const (
	Status     = "status"       // answers Fault.Status
	Hang       = "hang"         // no answer until the client gives up or other faults are set
	NoLogprobs = "no_logprobs"  // logprobs is null
	NoTokenIDs = "no_token_ids" // no ids anywhere
)

var kinds = map[string][]string{"chat": {Status, Hang, NoLogprobs, NoTokenIDs}, "train": {Status}}

// Faults is the body of POST /_rollmill/faults, which replaces those before: faults of
// the next calls, in order.
type Faults struct {
	Chat  []*Fault `json:"chat"`
	Train []*Fault `json:"train"`
}

// Fault applies to Times calls (default 1, -1: all) after skipping Skip of them.
type Fault struct {
	Kind   string `json:"kind"`
	Skip   int    `json:"skip,omitempty"`
	Times  int    `json:"times"`
	Status int    `json:"status,omitempty"` // default 500
}

// Server is a sandbox with faults. It is safe for concurrent use.
type Server struct {
	*sandbox.Server
	mu      sync.Mutex
	samples []sandbox.Sample
	faults  Faults
	cleared chan struct{} // closed when other faults are set
}

// next returns the fault of the next call of a list; nil for none.
func (s *Server) next(list *[]*Fault) (*Fault, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*list) == 0 {
		return nil, nil
	}
	f := (*list)[0]
	if f.Skip > 0 {
		f.Skip--
		return nil, nil
	}
	if f.Times > 0 {
		f.Times--
	}
	if f.Times == 0 {
		*list = (*list)[1:]
	}
	return f, s.cleared
}

func (s *Server) set(w http.ResponseWriter, r *http.Request) {
	var faults Faults
	if err := json.NewDecoder(r.Body).Decode(&faults); err != nil {
		http.Error(w, "reading the faults: "+err.Error(), http.StatusBadRequest)
		return
	}
	for name, list := range map[string][]*Fault{"chat": faults.Chat, "train": faults.Train} {
		for _, f := range list {
			if !slices.Contains(kinds[name], f.Kind) {
				http.Error(w, fmt.Sprintf("no %s fault is called %s", name, strconv.Quote(f.Kind)), http.StatusBadRequest)
				return
			}
			f.Times, f.Status = cmp.Or(f.Times, 1), cmp.Or(f.Status, http.StatusInternalServerError)
		}
	}
	s.replace(faults)
}

func (s *Server) replace(faults Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
	close(s.cleared)
	s.cleared = make(chan struct{})
}
