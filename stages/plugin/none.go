package plugin

// None is embedded in the Settings of a plug-in without settings of its own.
type None struct{}

// Declare declares nothing.
func (*None) Declare(*Declarer) {}

// NewNone returns the settings of a plug-in that has none.
func NewNone() *None { return &None{} }
