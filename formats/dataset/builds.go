package dataset

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// build names one attempt to make the dataset: records of one build belong
// together. The name of a build that overwrites includes the manifest that it
// replaces. So once there is another manifest, the build can never be sealed, and
// any process may remove what it left at any time.
type build struct {
	identity string
	of       int
	base     string // generation of the manifest to be replaced; "" for none
}

func (r build) dir() string {
	if r.base == "" {
		return r.home()
	}
	return fmt.Sprintf("%s%s-%d-%s/", private, r.identity, r.of, r.base)
}

// home returns the folder of objects that do not depend on which dataset is
// replaced.
func (r build) home() string { return fmt.Sprintf("%s%s-%d/", private, r.identity, r.of) }

func (r build) record(shard int) string  { return fmt.Sprintf("%sshard-%d.json", r.dir(), shard) }
func (r build) journal(shard int) string { return fmt.Sprintf("%sjournal-%d/", r.home(), shard) }
func (r build) calls(shard int) string   { return fmt.Sprintf("%sjournal-%d-calls/", r.home(), shard) }

// part returns the name of a part. Its last eight digits are a digest of the
// run and the content, so that a name is never used again in another run.
func (r build) part(table string, shard, seq int, digest string) string {
	name := fmt.Sprintf("part-%05d-of-%05d-%05d%s", shard, r.of, seq, r.suffix(digest))
	if table != "" {
		name = table + "/" + name
	}
	return name
}

func (r build) suffix(digest string) string {
	return "-" + shortSum([]byte(r.dir()+digest), 4) + ".parquet"
}

// wrote reports whether a part with this name and content belongs to the run.
func (r build) wrote(name, digest string) bool { return strings.HasSuffix(name, r.suffix(digest)) }

var (
	buildKey  = regexp.MustCompile(`^\.rollmill/([0-9a-f]{16})-([0-9]{1,5})(?:-([0-9a-f]{16}))?/(.+)$`)
	recordKey = regexp.MustCompile(`^shard-([0-9]{1,5})\.json$`)
)

// buildOf splits the key of an object of a run. It returns false for a folder
// with more shards than a dataset may have: rollmill did not write it.
func buildOf(key string) (r build, file string, ok bool) {
	m := buildKey.FindStringSubmatch(key)
	if m == nil {
		return build{}, "", false
	}
	of, _ := strconv.Atoi(m[2])
	return build{m[1], of, m[3]}, m[4], of >= 1 && of <= MaxShards
}

// recordOf returns the shard whose record a file of a run is.
func recordOf(r build, file string) (shard int, ok bool) {
	m := recordKey.FindStringSubmatch(file)
	if m == nil {
		return 0, false
	}
	shard, _ = strconv.Atoi(m[1])
	return shard, shard < r.of
}

// inJournal reports whether an object is a segment of a journal, and whether of one of rows.
func inJournal(key string) (is, ofRows bool) {
	_, file, ok := buildOf(key)
	is = ok && strings.HasPrefix(file, "journal-")
	return is, is && !strings.Contains(file, "-calls/")
}

func missing(have map[int]bool, of int) []int {
	var out []int
	for i := range of {
		if !have[i] {
			out = append(out, i)
		}
	}
	return out
}

// numbers formats shard numbers for messages, "1, 2, 5-8".
func numbers(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j > i+1 {
			out = append(out, fmt.Sprintf("%d-%d", list[i], list[j]))
			i = j + 1
			continue
		}
		out = append(out, strconv.Itoa(list[i]))
		i++
	}
	return strings.Join(out, ", ")
}

// made reports whether a manifest was made from the records of a build.
func (r build) made(m *Manifest) bool {
	for _, p := range m.allParts() {
		return m.Identity == r.identity && m.Shards == r.of && r.wrote(p.Name, p.Digest)
	}
	return false
}
