package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/rollmill/rollmill/formats"
)

// VerifyRows compares the main table's rows digest with its rows. It does not
// read a wide dataset's payload; it uses the payload digest in each row
// instead. It is for callers that rely on the rows digest, for example as a
// key.
func VerifyRows(ctx context.Context, d *Dataset) error {
	if d.plain != nil {
		return d.verifyPlain(ctx)
	}
	if err := d.verifyRecords(ctx); err != nil {
		return err
	}
	if d.Kind != formats.KindTrajectories {
		return d.verifyRows(ctx, "")
	}
	rd, err := NewHeadReader[formats.Trajectory](ctx, d, d.All())
	if err != nil {
		return err
	}
	defer rd.Close()
	var got formats.RowsDigest
	buf := make([]formats.Trajectory, 256)
	for {
		n, err := rd.Read(buf)
		for i := range buf[:n] {
			got.Add(formats.Digest(&buf[i]))
		}
		if errors.Is(err, io.EOF) {
			return d.sameRows("", got)
		}
		if err != nil {
			return err
		}
	}
}
