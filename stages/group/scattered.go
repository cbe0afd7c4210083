package group

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/spill"
)

// groupScattered writes a slice of rows whose groups are scattered over the base. What
// the numbers need of each row is sorted by group; the results are sorted back
// into the base's order and written with the rows, which are read a second
// time. A group's statistics are written with its first row, by the shard whose
// slice has it. Both sorts spill; a single group is held in memory.
func (j *job) groupScattered(ctx context.Context) error {
	if j.estimator.Baselines != nil {
		return usage("leave --by out, or write the rows of a group next to each other, as rollout does",
			"group: estimator %s goes from row to row, and the rows of groups are not adjacent", j.o.Estimator.Name)
	}
	half := j.o.Spill.Memory / 2
	g := &scatteredGroups{job: j, byGroup: spill.New(j.o.Spill.Dir, half), byPlace: spill.New(j.o.Spill.Dir, half)}
	defer g.byGroup.Close()
	defer g.byPlace.Close()
	if err := g.sortRows(ctx); err != nil {
		return err
	}
	if err := g.compute(ctx); err != nil {
		return err
	}
	if err := g.byGroup.Close(); err != nil {
		return err
	}
	j.o.Logger().Info("rows of groups are not adjacent: sorted by group", "spilled", g.byGroup.Runs()+g.byPlace.Runs())
	return g.write(ctx)
}

type scatteredGroups struct {
	*job
	byGroup    *spill.Sorter // rows by group: a digest of its key, the row's position
	byPlace    *spill.Sorter // results of rows, by position
	hash       hasher
	key, value []byte
	row        spilledRow // that is encoded
	result     rowResult  // that is encoded or decoded
}

// sortRows sorts by group what the numbers need of every row that may belong to a
// group in the slice.
func (g *scatteredGroups) sortRows(ctx context.Context) error {
	inSlice, err := g.filter(ctx)
	if err != nil {
		return err
	}
	rows, err := openKeyed(ctx, g.in, g.in.base.All(), (*row).of)
	if err != nil {
		return err
	}
	defer rows.close()
	tokens := lengths{}
	if err := tokens.open(ctx, g.in, g.in.base.All(), &g.estimator); err != nil {
		return err
	}
	defer tokens.close()
	return rows.each(0, func(at int64, key string, r *row) error {
		n, err := tokens.read(1)
		if err != nil {
			return err
		}
		sum := g.hash.sum(key, r.Epoch)
		if !inSlice.has(sum.Lo) {
			return nil
		}
		g.key = spill.Key(g.key[:0], sum.Hi, sum.Lo, uint64(at))
		g.row = spilledRow{Epoch: r.Epoch, Key: key, ExampleID: r.ExampleID, Status: r.Status, Reward: r.Reward, ForkCall: r.ForkCall,
			ShapedRewards: r.ShapedRewards, Length: n[0]}
		if g.estimator.Components != nil {
			g.row.Rewards = r.Rewards
		}
		g.value = spill.Append(g.value[:0], &g.row)
		return g.byGroup.Add(g.key, g.value)
	})
}

// filter finds the groups that have rows in the slice. The result may let
// through rows of others too.
func (g *scatteredGroups) filter(ctx context.Context) (groupFilter, error) {
	if g.slice == g.in.base.All() {
		return nil, nil
	}
	inSlice := make(groupFilter, filterBits/64)
	return inSlice, g.in.eachKey(ctx, g.slice, func(_ int64, key string, epoch int32) error {
		inSlice.add(g.hash.sum(key, epoch).Lo)
		return nil
	})
}

// groupFilter is a hash filter of groups with one bit per hash value; nil passes every group.
type groupFilter []uint64

const filterBits = 1 << 26

func (s groupFilter) add(n uint64)      { s[n%filterBits/64] |= 1 << (n % 64) }
func (s groupFilter) has(n uint64) bool { return s == nil || s[n%filterBits/64]&(1<<(n%64)) != 0 }

func (g *scatteredGroups) compute(ctx context.Context) error {
	c := &groupRows{grouper: g.grouper()}
	for r, err := range g.byGroup.Sorted() {
		if err != nil {
			return err
		}
		if string(c.group) != string(r.Key[:16]) {
			if err := g.group(ctx, c); err != nil {
				return err
			}
			c.reset(r.Key[:16])
		}
		c.add(int64(binary.BigEndian.Uint64(r.Key[16:])), r.Value)
	}
	return g.group(ctx, c)
}

type groupRows struct {
	grouper Grouper
	group   []byte
	members []formats.Member
	tokens  []Length
	at      []int64
	row     spilledRow // decoded last
}

func (c *groupRows) reset(group []byte) {
	c.group = append(c.group[:0], group...)
	c.members, c.tokens, c.at = c.members[:0], c.tokens[:0], c.at[:0]
}

func (c *groupRows) add(at int64, value []byte) {
	spill.Decode(value, &c.row)
	c.members, c.tokens, c.at = append(c.members, c.row.member()), append(c.tokens, c.row.Length), append(c.at, at)
}

// Group computes a group, and sorts the results of its rows by position.
func (g *scatteredGroups) group(ctx context.Context, c *groupRows) error {
	if err := ctx.Err(); err != nil || !slices.ContainsFunc(c.at, g.holds) {
		return err
	}
	stats, err := c.grouper.Fill(c.members, c.tokens)
	if err != nil {
		return g.rowError(ctx, err, c)
	}
	stats.FirstRow = c.at[0]
	describeLengths(c.members, c.tokens, &stats)
	owned := g.holds(c.at[0])
	for i := range c.members {
		if !g.holds(c.at[i]) && !(owned && g.o.preferences()) {
			continue
		}
		g.result = rowResult{GroupID: stats.GroupID, First: c.at[0], Advantage: c.members[i].Advantage,
			NoAdvantage: c.members[i].NoAdvantage, Advantages: c.members[i].Advantages, Losses: c.members[i].Losses}
		if i == 0 {
			g.result.Group = &groupResult{Stats: stats}
			g.result.Group.Size, g.result.Group.Compared, g.result.Group.Flat = c.grouper.compared(c.members, &stats)
		}
		g.key = binary.BigEndian.AppendUint64(g.key[:0], uint64(c.at[i]))
		g.value = spill.Append(g.value[:0], &g.result)
		if err := g.byPlace.Add(g.key, g.value); err != nil {
			return err
		}
	}
	return nil
}

// rowError adds the row to the error of a member.
func (g *scatteredGroups) rowError(ctx context.Context, err error, c *groupRows) error {
	var bad *BadMember
	if !errors.As(err, &bad) {
		return err
	}
	type id struct {
		TrajectoryID string `parquet:"trajectory_id"`
	}
	at := c.at[bad.Member]
	names, err := dataset.ReadAll[id](ctx, g.in.rows, "", dataset.Range{First: at, Rows: 1})
	if err != nil {
		return err
	}
	return g.in.badMember(bad, names[0].TrajectoryID, at)
}

// write reads the rows in the base's order together with their results.
func (g *scatteredGroups) write(ctx context.Context) error {
	w, err := g.job.newRowWriter(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	for r, err := range g.byPlace.Sorted() {
		if err != nil {
			return err
		}
		spill.Decode(r.Value, &g.result)
		if err := w.add(int64(binary.BigEndian.Uint64(r.Key)), g.result); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	if w.written != g.slice.Rows {
		return fmt.Errorf("group: %d of %d rows of %q are in groups", w.written, g.slice.Rows, g.in.base.URI())
	}
	return w.pair()
}

// spilledRow is what a group's numbers need of a row. Package spill encodes it.
type spilledRow struct {
	Epoch                  int32
	Key, ExampleID, Status string
	ForkCall               *int32
	Reward                 *float64
	Rewards                []formats.NamedReward // nil unless the estimator looks at them
	ShapedRewards          []float64
	Length                 Length
}

func (r *spilledRow) member() formats.Member {
	return formats.Member{Epoch: r.Epoch, GroupID: formats.GroupID(r.Key, int(r.Epoch)), ExampleID: r.ExampleID,
		Status: r.Status, ForkCall: r.ForkCall, Reward: r.Reward, Rewards: r.Rewards, ShapedRewards: r.ShapedRewards}
}
