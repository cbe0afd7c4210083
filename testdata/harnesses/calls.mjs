// As calls.py, with OpenAI's client for TypeScript and the AI SDK: calls.mjs openai|ai URL CASES.
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_MODULES + "/");
const [reader, baseURL, cases] = process.argv.slice(2);
const messages = [{ role: "user", content: "hi" }];
let read;

if (reader === "openai") {
  const OpenAI = require("openai").default;
  const client = new OpenAI({ baseURL, apiKey: "x", maxRetries: 0 });
  read = async (model) => {
    const answer = await client.chat.completions.stream({ model, messages }).finalChatCompletion();
    return (answer.choices[0].message.tool_calls ?? []).map((c) => [c.id ?? "", c.function?.name ?? "", c.function?.arguments ?? ""]);
  };
} else {
  const { createOpenAI } = await import(require.resolve("@ai-sdk/openai"));
  const openai = createOpenAI({ baseURL, apiKey: "x" });
  read = async (model) => {
    const prompt = [{ role: "user", content: [{ type: "text", text: "hi" }] }];
    const { stream } = await openai.chat(model).doStream({ prompt });
    const calls = [];
    for await (const part of stream) {
      if (part.type === "error") throw part.error;
      if (part.type === "tool-call") calls.push([part.toolCallId, part.toolName, part.input]);
    }
    return calls;
  };
}

for (let k = 0; k < Number(cases); k++) {
  let out;
  try {
    out = await read(`case-${k}`);
  } catch (e) {
    out = `${e.name}: ${e.message}`;
  }
  console.log(JSON.stringify(out));
}
