package sandbox

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Faults of a chat call.
const (
	FaultStatus        = "status"         // answers Status, and Retry-After when RetryAfter is set
	FaultHalf          = "half"           // the connection breaks in the middle of the answer
	FaultHang          = "hang"           // no answer until the client gives up or the faults are cleared
	FaultDelay         = "delay"          // the answer comes after Millis
	FaultNotJSON       = "not_json"       // 200 and something else
	FaultNoLogprobs    = "no_logprobs"    // logprobs is null
	FaultFewerLogprobs = "fewer_logprobs" // one less than there are tokens
	FaultNaN           = "nan"            // a logprob is NaN
	FaultNoTokenIDs    = "no_token_ids"   // no ids anywhere
)

// Faults of a training call.
const (
	TrainStatus = "status" // answers Status before anything else
	TrainDrop   = "drop"   // the stream breaks after Lines lines (-1: after all); trained on nevertheless if Commit
	TrainZero   = "zero"   // no lines and nothing learnt; the step advances if Commit
	TrainNaN    = "nan"    // the losses are NaN on the wire
	TrainDelay  = "delay"  // waits Millis before the first line
	TrainHold   = "hold"   // waits before the commit until the faults are cleared
)

// Faults is the body of POST and GET /_rollmill/faults: faults of the next
// calls, in order. DELETE clears them and releases hanging calls.
type Faults struct {
	Chat  []*Fault `json:"chat"`
	Train []*Fault `json:"train"`
}

// lifted is closed when the faults are cleared after the fault was drawn.
type lifted <-chan struct{}

// Fault applies to Times calls (default 1, -1: all) after skipping Skip of them.
type Fault struct {
	Kind       string `json:"kind"`
	Skip       int    `json:"skip,omitempty"`
	Times      int    `json:"times"`
	Status     int    `json:"status,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"` // of a chat call
	Millis     int    `json:"millis,omitempty"`
	Lines      int    `json:"lines,omitempty"`  // of a training call
	Commit     bool   `json:"commit,omitempty"` // likewise
}

var (
	chatKinds = []string{FaultStatus, FaultHalf, FaultHang, FaultDelay, FaultNotJSON, FaultNoLogprobs, FaultFewerLogprobs,
		FaultNaN, FaultNoTokenIDs}
	trainKinds = []string{TrainStatus, TrainDrop, TrainZero, TrainNaN, TrainDelay, TrainHold}
)

type faultBox struct {
	mu      sync.Mutex
	faults  Faults
	cleared chan struct{}
}

// next returns the fault of the next call of a list in the box; nil for none.
func (b *faultBox) next(list *[]*Fault) (*Fault, lifted) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
	return f, b.cleared
}

func (f *Fault) is(kind string) bool { return f != nil && f.Kind == kind }

// refuseChat applies a fault after which there is nothing to answer.
func (s *Server) refuseChat(w http.ResponseWriter, r *http.Request, f *Fault, over lifted) bool {
	switch {
	case f.is(FaultStatus):
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		}
		newAPIError(f.Status, "server_error", "", "fault", "a fault was asked for").write(w)
	case f.is(FaultHang):
		select {
		case <-over:
		case <-r.Context().Done():
		case <-s.stopping:
		}
		panic(http.ErrAbortHandler)
	case f.is(FaultNotJSON):
		w.Write([]byte("<html>a proxy speaks</html>"))
	case f.is(FaultDelay):
		s.wait(r, f.Millis)
		return false
	default:
		return false
	}
	return true
}

func (s *Server) wait(r *http.Request, millis int) {
	select {
	case <-time.After(time.Duration(millis) * time.Millisecond):
	case <-r.Context().Done():
	case <-s.stopping:
	}
}

// spoil removes from a drawn answer what the fault names.
func (f *Fault) spoil(c *completion) {
	switch {
	case f.is(FaultNoLogprobs):
		c.request.Logprobs = false
	case f.is(FaultNoTokenIDs):
		c.request.ReturnTokenIDs, c.request.ReturnTokensAsTokenIDs = false, false
	case f.is(FaultFewerLogprobs):
		for i := range c.answers {
			a := &c.answers[i]
			a.logprobs = a.logprobs[:len(a.logprobs)-1]
		}
	}
}

var firstLogprob = regexp.MustCompile(`"logprob":[^,]+`)

// damage rewrites an encoded answer in a way that no JSON encoder of ours
// would.
func (f *Fault) damage(body []byte) []byte {
	if !f.is(FaultNaN) {
		return body
	}
	return firstLogprob.ReplaceAll(body, []byte(`"logprob":NaN`))
}

func (s *Server) setFaults(w http.ResponseWriter, r *http.Request) {
	var more Faults
	if err := json.NewDecoder(r.Body).Decode(&more); err != nil {
		writeDetail(w, http.StatusBadRequest, "reading the faults: "+err.Error())
		return
	}
	for _, of := range []struct {
		name  string
		list  []*Fault
		kinds []string
	}{{"chat", more.Chat, chatKinds}, {"training", more.Train, trainKinds}} {
		for _, f := range of.list {
			if !slices.Contains(of.kinds, f.Kind) {
				writeDetail(w, http.StatusBadRequest, "no "+of.name+" fault is called "+strconv.Quote(f.Kind))
				return
			}
			f.Times, f.Status = cmp.Or(f.Times, 1), cmp.Or(f.Status, http.StatusInternalServerError)
		}
	}
	s.faults.mu.Lock()
	s.faults.faults.Chat = append(s.faults.faults.Chat, more.Chat...)
	s.faults.faults.Train = append(s.faults.faults.Train, more.Train...)
	s.faults.mu.Unlock()
	s.showFaults(w, r)
}

func (s *Server) showFaults(w http.ResponseWriter, _ *http.Request) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	writeJSON(w, http.StatusOK, s.faults.faults)
}

func (s *Server) clearFaults(w http.ResponseWriter, _ *http.Request) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.faults = Faults{}
	close(s.faults.cleared)
	s.faults.cleared = make(chan struct{})
	writeJSON(w, http.StatusOK, Faults{})
}
