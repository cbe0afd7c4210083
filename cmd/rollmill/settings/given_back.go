package settings

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// givenBack copies what a trainer gave back to a Parquet file beside the receipt, and returns
// its URI.
func givenBack(ctx context.Context, receipt *receipts.Receipt, beside string) (string, error) {
	lines := strings.TrimSuffix(backends.EchoFile, ".parquet") + ".jsonl"
	named := func(uri string) string { _, name := storage.Split(uri); return name }
	at := slices.IndexFunc(receipt.Files, func(uri string) bool { return named(uri) == backends.EchoFile || named(uri) == lines })
	kept := storage.Join(beside, backends.EchoFile)
	if at < 0 {
		return "", fault.Errorf(fault.Failed,
			"leave --echo out; backends command and tinker can, and a program must be written for it",
			"submit: the trainer gave nothing back: it named no %s and no %s among its files", backends.EchoFile, lines)
	}
	uri := receipt.Files[at]
	if uri == kept {
		return kept, nil
	}
	src, err := OpenScored(ctx, uri)
	if err != nil {
		return "", err
	}
	defer src.Close() // read only
	to, err := storage.Open(ctx, beside)
	if err != nil {
		return "", err
	}
	draft, err := to.Draft(ctx)
	if err != nil {
		return "", err
	}
	defer draft.Discard()
	if named(uri) == lines {
		err = trainers.EchoLines(records.File{Name: uri, R: src, Size: src.Size()}, draft)
	} else {
		_, err = io.Copy(draft, io.NewSectionReader(src, 0, src.Size()))
	}
	if err != nil {
		return "", err
	}
	return kept, draft.Replace(ctx, backends.EchoFile)
}

// OpenScored opens a file that a reward reads. Trainers fill its folder, so a link that leads
// out of that is refused.
func OpenScored(ctx context.Context, uri string) (score.File, error) {
	folder, name := storage.Split(uri)
	b, err := storage.Open(ctx, folder)
	if err != nil {
		return nil, err
	}
	return b.Confined().Open(ctx, name)
}
