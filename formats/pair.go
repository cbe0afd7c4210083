package formats

// Pair is a row of _pairs: two ways to go on from the same prompt, one better.
// Prompt, Chosen and Rejected are JSON arrays of chat messages as the OpenAI
// API has them, so that the table can be read alone.
type Pair struct {
	ExampleID     string  `parquet:"example_id,dict"`
	GroupID       string  `parquet:"group_id,dict"`
	Epoch         int32   `parquet:"epoch,delta"`
	Turn          string  `parquet:"turn,optional,dict"`
	ChosenID      string  `parquet:"chosen_id"`
	RejectedID    string  `parquet:"rejected_id"`
	ChosenIndex   int32   `parquet:"chosen_index,delta"`
	RejectedIndex int32   `parquet:"rejected_index,delta"`
	ChosenScore   float64 `parquet:"chosen_score"`
	RejectedScore float64 `parquet:"rejected_score"`
	Margin        float64 `parquet:"margin"`
	Prompt        string  `parquet:"prompt"`
	Chosen        string  `parquet:"chosen"`
	Rejected      string  `parquet:"rejected"`
	Tools         string  `parquet:"tools,optional"` // a JSON array
}
