package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// archive writes a tar file with the binary, named as the program, and further
// files, all in one folder. Only names and contents decide its bytes.
func archive(to, folder, binary string, extra []string, at time.Time) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	packed, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	add := func(from, name string, mode int64) error {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		head := &tar.Header{Name: folder + "/" + name, Mode: mode, Size: int64(len(data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	if err := add(binary, program, 0o755); err != nil {
		return err
	}
	for _, file := range extra {
		if err := add(file, filepath.Base(file), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), packed.Close())
}
