// As clients.py, with the clients for TypeScript: clients.mjs PROTOCOL whole|stream URL [...].
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_MODULES + "/");
const Anthropic = require("@anthropic-ai/sdk").default;
const OpenAI = require("openai").default;

const model = "policy";
const schema = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };
const task = "Add 17 and 25.";
const patience = process.env.IMPATIENT ? { timeout: 5000, maxRetries: 0 } : {}; // milliseconds
let stream;
const sum = ({ a, b }) => String(a + b);

async function messages() {
  const client = new Anthropic(patience);
  const tools = [{ name: "add", description: "Add two numbers.", input_schema: schema }];
  const history = [{ role: "user", content: task }];
  const ask = () => {
    const request = { model, max_tokens: 500, system: "You add.", tools, messages: history };
    return stream ? client.messages.stream(request).finalMessage() : client.messages.create(request);
  };
  if (!((await client.messages.countTokens({ model, messages: history })).input_tokens > 0)) throw new Error("no count");
  const answer = await ask();
  history.push({ role: "assistant", content: answer.content });
  history.push({
    role: "user",
    content: answer.content.filter((b) => b.type === "tool_use").map((b) => ({ type: "tool_result", tool_use_id: b.id, content: sum(b.input) })),
  });
  return (await ask()).content.filter((b) => b.type === "text").map((b) => b.text).join("");
}

async function chat() {
  const client = new OpenAI(patience);
  const tools = [{ type: "function", function: { name: "add", description: "Add two numbers.", parameters: schema } }];
  const history = [{ role: "system", content: "You add." }, { role: "user", content: task }];
  const ask = async () => {
    const request = { model, messages: history, tools };
    const answer = stream ? await client.chat.completions.stream(request).finalChatCompletion() : await client.chat.completions.create(request);
    return answer.choices[0].message;
  };
  const answer = await ask();
  history.push(answer);
  for (const call of answer.tool_calls) {
    history.push({ role: "tool", tool_call_id: call.id, content: sum(JSON.parse(call.function.arguments)) });
  }
  return (await ask()).content;
}

async function responses() {
  const client = new OpenAI(patience);
  const tools = [{ type: "function", name: "add", description: "Add two numbers.", parameters: schema, strict: false }];
  const input = [{ role: "user", content: task }];
  const ask = () => {
    const request = { model, instructions: "You add.", input, tools };
    return stream ? client.responses.stream(request).finalResponse() : client.responses.create(request);
  };
  const answer = await ask();
  input.push(...answer.output);
  for (const call of answer.output.filter((item) => item.type === "function_call")) {
    input.push({ type: "function_call_output", call_id: call.call_id, output: sum(JSON.parse(call.arguments)) });
  }
  return (await ask()).output_text;
}

const jobs = process.argv.slice(2);
for (let i = 0; i < jobs.length; i += 3) {
  const [protocol, way, url] = jobs.slice(i);
  stream = way === "stream";
  process.env.OPENAI_BASE_URL = url;
  process.env.ANTHROPIC_BASE_URL = url.replace(/\/v1$/, "");
  console.log(await { messages, chat, responses }[protocol]());
}
