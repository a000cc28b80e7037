/** The lines of each block in an event stream. Parsed here, so that a bug in the product's decoder hides nothing. */
export function blocksOf(text: string): readonly (readonly string[])[] {
  return text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => block.split("\n"));
}

/** The field names of a block and of its JSON data. */
export function frameFacts(title: string, block: readonly string[]): string[] {
  const isEvent = block.some((line) => line.startsWith("id:"));
  const event = block.find((line) => line.startsWith("event:"))?.slice("event: ".length);
  const about = `${title}, ${isEvent ? "log event" : (event ?? "no event")}`;
  return block.flatMap((line) => {
    const [, name = "", value = ""] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
    if (name === "") return [`${about}: comment`];
    if (name !== "data") return [`${about}: ${name}`];
    const data = JSON.parse(value) as object;
    const code =
      event === "status" && "code" in data ? [`${about}: code ${String(data.code)}`] : [];
    return [...Object.keys(data).map((field) => `${about}: data.${field}`), ...code];
  });
}

/** Reads an event stream as raw text. */
export async function openStream(url: URL, token: string) {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok || answer.body === null) throw new Error(await answer.text());
  let text = "";
  const waiting = new Set<() => void>();
  const over = (async () => {
    const decoder = new TextDecoder();
    // A stopping host may cut the connection.
    try {
      for await (const piece of answer.body ?? []) {
        text += decoder.decode(piece, { stream: true });
        for (const look of waiting) look();
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  })();
  return {
    until: (wanted: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => void (text.includes(wanted) && resolve());
        waiting.add(look);
        look();
        void over.then(() => reject(new Error(`The stream ended without "${wanted}".`)));
      }),
    /** The whole text, when the stream has ended. */
    async whole(): Promise<string> {
      await over;
      return text;
    },
  };
}
