package history

import (
	"context"
	"encoding/json"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// File is the file in which the report keeps a Run, as --json prints it.
const File = "report.json"

// ReadHistory returns the epochs that the last report of a run has. Without one it is
// storage.ErrNotExist.
func ReadHistory(ctx context.Context, b *storage.Bucket) ([]Epoch, error) {
	data, err := b.Read(ctx, File)
	if err != nil {
		return nil, err
	}
	var run Run
	if err := json.Unmarshal(data, &run); err != nil {
		return nil, fault.Invalid(storage.Join(b.URI(), File), "", err, "not a history of the report, which `rollmill report` makes again")
	}
	return run.Epochs, nil
}
