package validate

import (
	"maps"
	"slices"
)

// oldVersions is how many versions a trajectory may be behind the newest
// policy: the default of ART.
const oldVersions = 4

// maxVersions is how many policy versions are counted separately. When there
// are more, the oldest are certainly too old.
const maxVersions = 1000

// stale counts trajectories by the policy that sampled them; it decides at the
// end, because the newest policy may come last.
type stale struct {
	Count    // of the older ones
	versions map[int64]*Count
}

func newStale() checker { return &stale{versions: map[int64]*Count{}} }

func (c *stale) Row(r *Row) {
	t := r.wide()
	if t == nil || t.PolicyVersion == nil {
		return
	}
	c.Of++
	v := *t.PolicyVersion
	if c.versions[v] == nil {
		c.versions[v] = &Count{}
	}
	c.versions[v].Add(r, "", "policy version %d", v)
	if len(c.versions) > maxVersions {
		c.retire(slices.Min(slices.Collect(maps.Keys(c.versions))))
	}
}

// retire adds a version to those that are too old.
func (c *stale) retire(version int64) {
	old := c.versions[version]
	delete(c.versions, version)
	c.N += old.N
	c.First = append(c.First, old.First[:min(len(old.First), MaxPlaces-len(c.First))]...)
}

func (c *stale) found(*Check) []Finding {
	if c.Of == 0 {
		return nil
	}
	versions := slices.Sorted(maps.Keys(c.versions))
	newest := versions[len(versions)-1]
	for _, v := range versions {
		if newest-v > oldVersions {
			c.retire(v)
		}
	}
	return c.Over(0, "trajectories are of policies more than %d versions before %d, the newest here", oldVersions, newest)
}
