package query

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/storage/fault"
)

// WhereError is the error of a condition: it does not compile, or fails for a row.
type WhereError struct {
	Where string
	Place string // the trajectory or the group for which it fails
	Err   error  // says where in the text

	absent string // a name that no row has
}

func (e *WhereError) Error() string {
	if e.Place != "" {
		return fmt.Sprintf("the condition %q fails for %s: %v", e.Where, e.Place, e.Err)
	}
	return fmt.Sprintf("the condition %q: %v", e.Where, e.Err)
}

func (e *WhereError) Unwrap() []error { return []error{fault.ErrInvalid, e.Err} }

// Fault shows what a condition looks like.
func (e *WhereError) Fault() (fault.Kind, string) {
	if e.absent != "" {
		return fault.Input, "check the name, or say what a missing one is worth: " + e.absent + " ?? 0"
	}
	return fault.Input, "write a condition such as reward > 0.5 && sampled_tokens < 4000"
}

// compiled is an expression over the rows or groups of a list.
type compiled struct {
	text    string
	p       *expression.Program
	reads   func(column string) bool
	payload []string // columns that it reads and the index does not have
}

func (l List) compiled(text string, p *expression.Program) *compiled {
	e := &compiled{text: text, p: p, reads: expression.Reads(p)}
	for _, name := range []string{"answer", "metadata", "messages", "calls"} {
		if l.name == ofRows && e.reads(name) {
			e.payload = append(e.payload, name)
		}
	}
	return e
}

// found is what a condition finds.
type found struct {
	set             // nil: all
	absent []string // what it read, and no row had
}

// absent is the error of a condition that read what no row has, nil if there is no such name.
func absent(where string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return &WhereError{Where: where, Err: fmt.Errorf("no row has a value of %s", strings.Join(names, ", ")), absent: names[0]}
}

// matching finds the rows or groups for which a condition is true. It reads the
// dataset again if the condition is about columns that the index does not have.
func (l List) matching(ctx context.Context, where string) (found, error) {
	if where == "" {
		return found{}, nil
	}
	return l.x.finds.Of(l.name+" "+where, func() (found, error) {
		p, err := expression.Condition(where, l.fields)
		if err != nil {
			return found{}, &WhereError{Where: where, Err: err}
		}
		e, out := l.compiled(where, p), newSet(l.n)
		add := func(i uint32, v any) error {
			if yes, _ := v.(bool); yes {
				out.add(i)
			}
			return nil
		}
		if e.payload != nil {
			err := l.values(ctx, e, nil, add)
			return found{out, p.Absent()}, err
		}
		all, ctx := errgroup.WithContext(ctx)
		all.SetLimit(runtime.GOMAXPROCS(0))
		for from := uint32(0); from < l.n; from += chunkRows {
			all.Go(func() error {
				fields, fill := l.filler(e.reads)
				return l.run(ctx, e, fields, fill, between(from, min(l.n, from+chunkRows)), add)
			})
		}
		err = all.Wait()
		return found{out, p.Absent()}, err
	})
}

// chunkRows are judged by one goroutine at a time; they share no word of a set.
const chunkRows = 1 << 14

// values calls f with the value of an expression of each chosen row or group, in order.
func (l List) values(ctx context.Context, e *compiled, chosen set, f func(i uint32, v any) error) error {
	fields, fill := l.filler(e.reads)
	rows := between(0, l.n)
	if e.payload != nil {
		rows = l.x.payloads(ctx, e.payload, fields.(*expression.Row))
	}
	return l.run(ctx, e, fields, fill, func(yield func(uint32, error) bool) {
		for i, err := range rows {
			if (err != nil || chosen.has(i)) && !yield(i, err) {
				return
			}
		}
	}, f)
}

func between(from, to uint32) iter.Seq2[uint32, error] {
	return func(yield func(uint32, error) bool) {
		for i := from; i < to && yield(i, nil); i++ {
		}
	}
}

func (l List) run(ctx context.Context, e *compiled, fields any, fill func(uint32), rows iter.Seq2[uint32, error],
	f func(i uint32, v any) error) error {
	run, err := e.p.Begin(ctx)
	if err != nil {
		return err
	}
	defer run.End()
	for i, err := range rows {
		if err != nil {
			return err
		}
		if i%chunkRows == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fill(i)
		v, err := run.Run(fields)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return &WhereError{e.text, l.id(i), err, ""}
		}
		if err := f(i, v); err != nil {
			return err
		}
	}
	return nil
}
