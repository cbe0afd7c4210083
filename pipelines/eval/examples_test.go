package eval

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestWilson compares with intervals computed by hand: at 95 % z = 1.959964, so with
// none of 4 the upper limit is z^2/(4+z^2) = 3.841459/7.841459, and with 2 of 4 half the
// interval is z*sqrt(0.25/4+z^2/64)/(1+z^2/4) = 0.6859573/1.9603647.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		n, solved int
		low, high float64
	}{
		{4, 0, 0, 0.4898908364545972},
		{4, 4, 0.5101091635454027, 1},
		{4, 2, 0.15003898915214958, 0.8499610108478504},
		{1, 1, 0.20654931437723745, 1},
		{1000, 997, 0.9912169859464969, 0.9989792161188614},
	} {
		low, high := wilson(c.n, c.solved, 0.95), 1-wilson(c.n, c.n-c.solved, 0.95)
		near(t, fmt.Sprint("low of ", c), low, c.low)
		near(t, fmt.Sprint("high of ", c), high, c.high)
		if c.solved == 0 && low != 0 || c.solved == c.n && high != 1 {
			t.Errorf("%v: %v to %v is not exact", c, low, high)
		}
	}
}

// TestExampleFigures: pass@2 with 2 of 4 is 1 - C(2,2)/C(4,2) = 5/6.
func TestExampleFigures(t *testing.T) {
	e := some(1, 0, 1, 0, null)
	e.id, e.epoch, e.failed, e.tokens, e.micros = "a", 3, 1, 500, 10e6
	o := MeasureOptions{Solved: 1, Confidence: 0.95, K: []int{1, 2, 5}}
	f := e.figures(o)
	if f.ID != "a" || f.Epoch != 3 || f.Trajectories != 5 || f.Failed != 1 || f.Attempts != 4 || f.Solved != 2 || f.PassAtK[2].Value != nil {
		t.Errorf("%+v", f)
	}
	near(t, "pass@1", *f.PassAtK[0].Value, 0.5)
	near(t, "pass@2", *f.PassAtK[1].Value, 5.0/6)
	near(t, "low", *f.Low, 0.15003898915214958)
	near(t, "tokens", *f.Tokens, 100)
	near(t, "seconds", *f.Seconds, 2)
	o.FailuresCount = true
	if f = e.figures(o); f.Attempts != 5 || f.Solved != 2 || *f.PassAtK[2].Value != 1 {
		t.Errorf("with failures: %+v", f)
	}
	if f = some(null).figures(MeasureOptions{Solved: 1, K: []int{1}}); f.Attempts != 0 || f.Low != nil || f.PassAtK[0].Value != nil || f.Tokens != nil {
		t.Errorf("without rewards: %+v", f)
	}
}

// TestTextOfExamples has a table up to 20 examples, and names ten of a kind.
func TestTextOfExamples(t *testing.T) {
	for count, table := range map[int]bool{3: true, 20: true, 21: false} {
		o := MeasureOptions{Solved: 1, Confidence: 0.95, K: []int{1, 2}}
		var examples []*example
		r := Result{Confidence: o.Confidence}
		for i := range count {
			e := some(0, 0)
			if i == 1 {
				e = some(1, 1)
			}
			if i == 2 {
				e = some(null)
			}
			e.id = fmt.Sprintf("task-%d", i)
			examples, r.ByExample = append(examples, e), append(r.ByExample, e.figures(o))
		}
		r.Figures = figures(examples, o)
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		want := []string{fmt.Sprintf("always passed 1 of %d (task-1) never passed %d of %d (task-0", count, count-2, count)}
		if count == 3 {
			want = append(want, "never passed 1 of 3 (task-0) intervals", "task-2 0 0 of 0 [null, null] null null null null")
		} else {
			want = append(want, "task-3, task-4, task-5, task-6, task-7, task-8, task-9, task-10, task-11, …) intervals")
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%d examples: no %q in\n%s", count, w, &b)
			}
		}
		if got := strings.Contains(text, "task-1 0 2 of 2 [0.3424, 1] 1 1 null null"); got != table {
			t.Errorf("%d examples: a table: %v\n%s", count, got, &b)
		}
	}
	var b bytes.Buffer
	if err := new(Result).WriteText(&b); err != nil || !strings.Contains(b.String(), "always passed  0 of 0\n") {
		t.Errorf("of nothing: %v\n%s", err, &b)
	}
}
