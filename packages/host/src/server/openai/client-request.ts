import { z } from "zod";
import { isRefusal, refuse, type Refusal } from "./errors.ts";

/** One turn as a client tells it. It is compared with ours and never believed. */
export interface ClientTurn {
  readonly user: string;
  /** Empty: the client has no answer to it. */
  readonly assistant: string;
}

export interface ClientFile {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly name: string | undefined;
}

/** What a request says, in whichever of the two forms it came. */
export interface ClientRequest {
  /** The client's system text; it belongs to the turn. */
  readonly instructions: string;
  readonly history: readonly ClientTurn[];
  readonly text: string;
  readonly files: readonly ClientFile[];
}

const message = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  content: z.unknown().optional(),
});
const messages = z.array(message).min(1).max(10_000);
type Message = z.infer<typeof message>;

/** Reads Chat Completions' `messages` and the `input` of Responses. */
export function readMessages(given: unknown, param: string): ClientRequest | Refusal {
  const asItems = typeof given === "string" ? [{ role: "user", content: given }] : given;
  const parsed = messages.safeParse(asItems);
  if (!parsed.success)
    return refuse(
      400,
      "invalid_messages",
      `${param} must be a list of one to 10,000 messages, each with a role and a content.`,
      param,
    );
  const orphan = parsed.data.findIndex(({ type }) => type?.endsWith("_call_output"));
  const last = parsed.data.at(-1);
  if (orphan !== -1 || last?.role === "tool" || last?.role === "function")
    return refuse(
      400,
      "unexpected_tool_result",
      "Nobody asked for this tool result: Holdfast runs its tools itself. Send a message of the user.",
      param,
    );
  if (last?.role !== "user")
    return refuse(400, "no_user_message", "The last message must be of the user.", param);
  return readConversation(parsed.data, param);
}

function readConversation(all: readonly Message[], param: string): ClientRequest | Refusal {
  const instructions: string[] = [];
  const history: ClientTurn[] = [];
  for (const { role, content } of all.slice(0, -1)) {
    const text = historyText(content);
    const open = history.at(-1);
    if (role === "system" || role === "developer") instructions.push(text);
    else if (role === "user") history.push({ user: text, assistant: "" });
    else if (role === "assistant" && open !== undefined && text !== "")
      history[history.length - 1] = { ...open, assistant: joinTexts(open.assistant, text) };
  }
  const last = all.at(-1);
  const content = readContent(last?.content, `${param}[${all.length - 1}].content`);
  if (isRefusal(content)) return content;
  if (content.text.trim() === "" && content.files.length === 0)
    return refuse(400, "empty_message", "The user's message has neither text nor an image.", param);
  return {
    instructions: instructions.filter((text) => text !== "").join("\n\n"),
    history,
    ...content,
  };
}

/** By concatenation, which copies nothing: some are joined one after the other, thousands of them. */
export function joinTexts(...texts: readonly string[]): string {
  return texts.reduce(
    (sum, text) => (sum === "" || text === "" ? sum + text : `${sum}\n\n${text}`),
    "",
  );
}

type Content = Pick<ClientRequest, "text" | "files">;

const textTypes = new Set(["text", "input_text", "output_text"]);

const contentPart = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.union([z.string(), z.looseObject({ url: z.string() })]).optional(),
  file: z
    .looseObject({ file_data: z.string().optional(), filename: z.string().optional() })
    .optional(),
  file_data: z.string().optional(),
  filename: z.string().optional(),
});

/** Each part that is none costs memory while the others are checked, so longer lists are not looked at. */
const maxHistoryParts = 10_000;
const historyParts = z.array(contentPart).max(maxHistoryParts);

/** Text only: what a history shows or calls is data that is not read again. */
function historyText(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = historyParts.safeParse(content);
  if (!parts.success) return "";
  return parts.data.map(({ type, text = "" }) => (textTypes.has(type) ? text : "")).join("");
}

function readContent(content: unknown, param: string): Content | Refusal {
  if (typeof content === "string") return { text: content, files: [] };
  const parts = z.array(contentPart).max(200).safeParse(content);
  if (!parts.success)
    return refuse(400, "invalid_content", "The content must be text, or a list of parts.", param);
  const texts: string[] = [];
  const files: ClientFile[] = [];
  for (const [index, part] of parts.data.entries()) {
    const at = `${param}[${index}]`;
    if (textTypes.has(part.type)) {
      texts.push(part.text ?? "");
      continue;
    }
    const file = readFilePart(part, at);
    if (isRefusal(file)) return file;
    files.push(file);
  }
  return { text: texts.join(""), files };
}

function readFilePart(part: z.infer<typeof contentPart>, param: string): ClientFile | Refusal {
  const { type, image_url: image } = part;
  if (type === "image_url" || type === "input_image") {
    const url = typeof image === "string" ? image : (image?.url ?? "");
    const file = decodeDataUrl(url, undefined);
    if (file !== null && imageTypes.has(file.mediaType)) return file;
    return refuse(
      400,
      "invalid_image",
      "Send the image itself, as data:image/png;base64,… (or jpeg, gif, webp). Holdfast fetches no addresses for a client.",
      param,
    );
  }
  if (type === "file" || type === "input_file") {
    const { file_data: data, filename } = part.file ?? part;
    const file = data === undefined ? null : decodeDataUrl(data, filename ?? "file");
    if (file !== null) return file;
    return refuse(
      400,
      "invalid_file",
      "Send the file itself as file_data: data:…;base64,….",
      param,
    );
  }
  return refuse(
    400,
    "unsupported_content_type",
    `Parts of the type ${JSON.stringify(type.slice(0, 40))} are not taken. Send text, images or files.`,
    param,
  );
}

const imageTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);

const dataUrl = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)(?:;[a-z0-9=._-]+)*;base64,/i;

function decodeDataUrl(url: string, name: string | undefined): ClientFile | null {
  const [head, mediaType] = dataUrl.exec(url.slice(0, 200)) ?? [];
  if (head === undefined || mediaType === undefined) return null;
  const encoded = url.slice(head.length);
  // One way to match each character: a second one would take quadratic time where the text does not match.
  if (!/^[A-Za-z0-9+/\s]+(?:=\s*){0,2}$/.test(encoded)) return null;
  const bytes = new Uint8Array(Buffer.from(encoded, "base64"));
  return bytes.length === 0 ? null : { bytes, mediaType: mediaType.toLowerCase(), name };
}
