package validate

import (
	"testing"

	"github.com/rollmill/rollmill/formats/randomtest"
)

func TestDuplicateIDInAGroup(t *testing.T) {
	rows := randomtest.Group(3, 0, randomtest.Options{Generations: 4, SampledTokens: 40, PromptTokens: 20})
	find := func() int64 {
		c := newCopies()
		for i := range rows {
			r := WideRow(int64(i), &rows[i])
			c.Row(&r)
		}
		found := c.found(&Check{})
		if found == nil {
			return 0
		}
		return found[0].Count
	}
	if n := find(); n != 0 {
		t.Errorf("%d findings of sound rows", n)
	}
	if rows[2].TrajectoryID = rows[0].TrajectoryID; find() != 1 {
		t.Errorf("%d findings, want 1", find())
	}
}
