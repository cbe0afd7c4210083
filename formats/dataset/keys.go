package dataset

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/storage"
)

const private = ".rollmill/" // files that only the tool reads

// MaxShards is the largest number of shards of a dataset.
const MaxShards = 99999

// run names one attempt to make the dataset: records of one run belong
// together. The name of a run that overwrites includes the manifest that it
// replaces. So once there is another manifest, the run can never be sealed, and
// any process may remove what it left at any time.
type run struct {
	identity string
	of       int
	base     string // generation of the manifest to be replaced; "" for none
}

func (r run) dir() string {
	if r.base == "" {
		return r.home()
	}
	return fmt.Sprintf("%s%s-%d-%s/", private, r.identity, r.of, r.base)
}

// home returns the folder of objects that do not depend on which dataset is
// replaced.
func (r run) home() string { return fmt.Sprintf("%s%s-%d/", private, r.identity, r.of) }

func (r run) record(shard int) string  { return fmt.Sprintf("%sshard-%d.json", r.dir(), shard) }
func (r run) journal(shard int) string { return fmt.Sprintf("%sjournal-%d/", r.home(), shard) }
func (r run) calls(shard int) string   { return fmt.Sprintf("%sjournal-%d-calls/", r.home(), shard) }

// part returns the name of a part. Its last eight digits are a digest of the
// run and the content, so that a name is never used again in another run.
func (r run) part(table string, shard, seq int, digest string) string {
	name := fmt.Sprintf("part-%05d-of-%05d-%05d%s", shard, r.of, seq, r.suffix(digest))
	if table != "" {
		name = table + "/" + name
	}
	return name
}

func (r run) suffix(digest string) string {
	return "-" + shortSum([]byte(r.dir()+digest), 4) + ".parquet"
}

// wrote reports whether a part with this name and content belongs to the run.
func (r run) wrote(name, digest string) bool { return strings.HasSuffix(name, r.suffix(digest)) }

var (
	runKey    = regexp.MustCompile(`^\.rollmill/([0-9a-f]{16})-([0-9]{1,5})(?:-([0-9a-f]{16}))?/(.+)$`)
	recordKey = regexp.MustCompile(`^shard-([0-9]{1,5})\.json$`)
	partKey   = regexp.MustCompile(`^(_[a-z_]+/)?part-(?:[0-9]{5}-of-[0-9]{5}|([0-9a-f]{16}))-[0-9]{5}-[0-9a-f]{8}\.parquet$`)
)

// runOf splits the key of an object of a run. It returns false for a folder
// with more shards than a dataset may have: rollmill did not write it.
func runOf(key string) (r run, file string, ok bool) {
	m := runKey.FindStringSubmatch(key)
	if m == nil {
		return run{}, "", false
	}
	of, _ := strconv.Atoi(m[2])
	return run{m[1], of, m[3]}, m[4], of >= 1 && of <= MaxShards
}

// recordOf returns the shard whose record a file of a run is.
func recordOf(r run, file string) (shard int, ok bool) {
	m := recordKey.FindStringSubmatch(file)
	if m == nil {
		return 0, false
	}
	shard, _ = strconv.Atoi(m[1])
	return shard, shard < r.of
}

// records returns the shards that have a record, by run. The segments of
// journals, of which there may be thousands, are not all listed.
func records(ctx context.Context, b *storage.Bucket) (map[run]map[int]bool, error) {
	out := map[run]map[int]bool{}
	some, err := storage.First(b.List(ctx, private), storage.PageSize)
	if err != nil {
		return nil, err
	}
	if len(some) == storage.PageSize {
		if some, err = announced(ctx, b); err != nil {
			return nil, err
		}
	}
	for _, o := range some {
		note(out, o.Key)
	}
	return out, nil
}

// note adds the shard whose record an object is, if it is one.
func note(found map[run]map[int]bool, key string) {
	r, file, ok := runOf(key)
	if !ok {
		return
	}
	shard, ok := recordOf(r, file)
	if !ok {
		return
	}
	if found[r] == nil {
		found[r] = map[int]bool{}
	}
	found[r][shard] = true
}

// announced lists the private objects except the segments of journals.
func announced(ctx context.Context, b *storage.Bucket) ([]storage.Object, error) {
	top, err := storage.First(b.Level(ctx, private), math.MaxInt)
	if err != nil {
		return nil, err
	}
	var out []storage.Object
	for in, err := range storage.InOrder(ctx, len(top), storage.AtOnce, func(ctx context.Context, i int) ([]storage.Object, error) {
		if !strings.HasSuffix(top[i].Key, "/") {
			return top[i : i+1], nil
		}
		return storage.First(b.Level(ctx, top[i].Key), math.MaxInt)
	}) {
		if err != nil {
			return nil, err
		}
		for _, o := range in {
			if !strings.HasSuffix(o.Key, "/") {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// inJournal reports whether an object is a segment of a journal, and whether of one of rows.
func inJournal(key string) (is, ofRows bool) {
	_, file, ok := runOf(key)
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
