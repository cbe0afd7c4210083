package art

// Model is an art.Model or art.TrainableModel.
type Model struct {
	Name           string         `json:"name"`
	Project        string         `json:"project"`
	BaseModel      string         `json:"base_model,omitempty"`
	Trainable      bool           `json:"trainable"`
	InternalConfig map[string]any `json:"_internal_config,omitempty"`
}

// The header that identifies a submission, and the route by which a server that
// trains atomically reports its state. A plain ART server ignores the header
// and does not have the route.
//
//	GET /_rollmill/training?model=NAME&project=PROJECT&submission=TOKEN
//	{"atomic":true,"step":4,"busy":false,"trained_at_step":4}
//
// Such a server trains a submission completely or not at all, and at most once:
// a second request with the same token trains nothing and is answered by 409 or
// by the lines of the first. busy is true from the moment the request's header
// arrives.
const (
	SubmissionHeader = "X-Rollmill-Submission"
	TrainingRoute    = "/_rollmill/training"
)

// TrainingState is the response of TrainingRoute.
type TrainingState struct {
	Atomic        bool   `json:"atomic"`
	Step          int64  `json:"step"`
	Busy          bool   `json:"busy"`            // a batch of this model is being trained
	TrainedAtStep *int64 `json:"trained_at_step"` // the step made by this submission; null when it made none
}
