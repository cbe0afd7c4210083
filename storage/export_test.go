package storage

import "os"

// SwapFile makes a draft write elsewhere.
func SwapFile(d *Draft, f *os.File) {
	d.file.Close()
	d.file = f
}

// Named makes drafts of a bucket named files, as where there are no unnamed ones.
func Named(b *Bucket, dir string) (*Draft, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	return &Draft{b: b, file: f, name: f.Name()}, err
}

var RenameNew = renameNew
