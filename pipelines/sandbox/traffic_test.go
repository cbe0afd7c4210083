package sandbox

import (
	"testing"
	"time"
)

func TestATrainingUnderWayIsBusy(t *testing.T) {
	h := start(t, Options{})
	h.do("POST", "/register", student).want(t, 200, nil)
	held, release := h.hold()
	trained := make(chan reply)
	go func() { trained <- h.train(1, submissionHeader, "k") }()
	<-held
	var s trainingState
	h.do("GET", "/_rollmill/training?project=demo&model=student&submission=k&wait=0", "").want(t, 200, &s)
	if !s.Busy || s.Step != 0 || s.TrainedAtStep != nil {
		t.Errorf("while it trains: %+v", s)
	}
	h.do("GET", "/_rollmill/training?project=demo&model=another&wait=0", "").want(t, 200, &s)
	if s.Busy {
		t.Error("another model is busy, too")
	}
	asked := make(chan int)
	go func() { asked <- h.step() }()
	select {
	case step := <-asked:
		t.Errorf("step %d, and it still trains", step)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	if step := <-asked; step != 1 {
		t.Errorf("asked for the step while it trains: %d, want the new one", step)
	}
	(<-trained).want(t, 200, nil)
	if s := h.state("k"); s.Busy || s.TrainedAtStep == nil {
		t.Errorf("afterwards: %+v", s)
	}
}

// A request whose body is not read yet is under way, too.
func TestACallIsBusyFromItsFirstByte(t *testing.T) {
	tr := newTraffic()
	known, leave := tr.arrive()
	a, b := modelKey{"p", "a"}, modelKey{"p", "b"}
	if !tr.settle(t.Context(), a, 0) || !tr.settle(t.Context(), b, 0) {
		t.Error("a call for who knows which model leaves some model idle")
	}
	known(a)
	if !tr.settle(t.Context(), a, 0) || tr.settle(t.Context(), b, 0) {
		t.Error("a call for one model must keep that one busy alone")
	}
	leave()
	if tr.settle(t.Context(), a, 0) {
		t.Error("a call that has left keeps the model busy")
	}
}
