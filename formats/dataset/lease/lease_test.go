package lease

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollmill/rollmill/storage/fault"
)

// memory is a Place of this process.
type memory struct {
	mu   sync.Mutex
	data []byte
	lose bool // the answer to the next swap, which is done
	cut  bool // nothing answers
}

var errCut = errors.New("the store does not answer")

// ago makes the last renewal that old.
func (l *Lease) ago(age time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = Now()
	l.renewed.monotonic = l.renewed.monotonic.Add(-age)
}

func (m *memory) Read(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut {
		return nil, errCut
	}
	return m.data, nil
}

func (m *memory) Swap(_ context.Context, old, next []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut {
		return false, errCut
	}
	if !bytes.Equal(m.data, old) || (m.data == nil) != (old == nil) {
		return false, nil
	}
	m.data = next
	if m.lose {
		m.lose = false
		return false, errors.New("no answer came")
	}
	return true, nil
}

func take(t *testing.T, m *memory, ttl time.Duration) (*Lease, int) {
	t.Helper()
	waited := 0
	l, err := Take(t.Context(), m, ttl, func(Owner, time.Time) { waited++ }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Release(context.Background()) })
	return l, waited
}

func TestARenewalWhoseAnswerIsLostKeepsTheLease(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, time.Hour)
	m.lose = true
	if err := l.renew(t.Context()); err == nil {
		t.Error("the lost answer is no error")
	}
	for range 2 {
		if err := l.renew(t.Context()); err != nil || l.Check(t.Context()) != nil {
			t.Errorf("%v, %v", err, l.Check(t.Context()))
		}
	}
}

// Others cannot tell a process that the store does not hear from a dead one:
// it stops well before they take over.
func TestALeaseThatCannotBeRenewedIsLost(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, time.Hour)
	bound, cancel := l.Bind(t.Context())
	defer cancel()
	m.cut = true
	l.ago(40 * time.Minute)
	if err := l.Check(t.Context()); err != nil || bound.Err() != nil {
		t.Errorf("before it is late: %v", err)
	}
	l.ago(50 * time.Minute)
	if err := l.Check(t.Context()); !errors.Is(err, ErrTaken) {
		t.Errorf("late: %v", err)
	}
	<-bound.Done()
	m.cut = false
	if err := l.Check(t.Context()); !errors.Is(err, ErrTaken) {
		t.Errorf("it came back: %v", err)
	}
	if err := l.Release(t.Context()); err != nil || m.data != nil {
		t.Errorf("%v: what nobody has taken is released", err)
	}
}

// A renewal that fails in the background is enough.
func TestALeaseIsLostWithoutACheck(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, 40*time.Millisecond)
	bound, cancel := l.Bind(t.Context())
	defer cancel()
	m.mu.Lock()
	m.cut = true
	m.mu.Unlock()
	<-bound.Done()
	if context.Cause(bound) != ErrTaken {
		t.Error(context.Cause(bound))
	}
}

func TestTakenLeaseIsNoticed(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, 400*time.Millisecond)
	bound, cancel := l.Bind(t.Context())
	defer cancel()
	l.end() // as if it slept
	<-l.done
	began := time.Now()
	other, waited := take(t, m, time.Hour)
	if took := time.Since(began); took < 600*time.Millisecond || waited != 1 {
		t.Errorf("taken over after %s, told %d times", took, waited)
	}
	err := l.Check(t.Context())
	<-bound.Done()
	if err != ErrTaken || context.Cause(bound) != ErrTaken {
		t.Errorf("%v, %v", err, context.Cause(bound))
	}
	if err := l.Release(t.Context()); err != nil || other.Check(t.Context()) != nil || m.data == nil {
		t.Errorf("%v: the lease of another was released", err)
	}
}

func TestADamagedLeaseIsTakenOver(t *testing.T) {
	m := &memory{data: []byte("{")}
	if _, waited := take(t, m, 20*time.Millisecond); waited != 1 {
		t.Errorf("told %d times", waited)
	}
}

func TestAReleasedLeaseIsTakenAtOnce(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, time.Hour)
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, waited := take(t, m, time.Hour); waited != 0 {
		t.Error("it waited")
	}
}

func TestTryDoesNotWaitForAnOwnerThatLives(t *testing.T) {
	m := &memory{}
	l, _ := take(t, m, 100*time.Millisecond)
	_, err := Try(t.Context(), m, time.Hour, "another import", slog.New(slog.DiscardHandler))
	if fault.KindOf(err) != fault.Temporary || !strings.Contains(err.Error(), "another import is at work: process ") {
		t.Errorf("%v", err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err = Try(t.Context(), m, time.Hour, "another import", slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("after it was released: %v", err)
	}
}
