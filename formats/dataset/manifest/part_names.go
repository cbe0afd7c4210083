package manifest

import "regexp"

const Private = ".rollmill/" // files that only the tool reads

// MaxShards is the largest number of shards of a dataset.
const MaxShards = 99999

var partKey = regexp.MustCompile(`^(_[a-z_]+/)?part-(?:[0-9]{5}-of-[0-9]{5}|([0-9a-f]{16}))-[0-9]{5}-[0-9a-f]{8}\.parquet$`)

// PartName reports whether a key is the name of a part. If a compaction wrote the part,
// it also returns the generation of the manifest whose parts that compaction merged.
func PartName(key string) (compacts string, is bool) {
	m := partKey.FindStringSubmatch(key)
	if m == nil {
		return "", false
	}
	return m[2], true
}
