import { sentenceOf, useApp } from "../app-context.ts";
import { momentOf } from "../ui/format-time.ts";
import { words } from "../strings/strings.ts";
import { Part } from "./part.tsx";
import { useRead } from "./settings-group.tsx";

/** Who is signed in, where; each can be ended at once, with the streams that hang on it. */
export function SignIns() {
  const { client, host, toasts } = useApp();
  const [read, again] = useRead(() => client.listSignIns());
  const w = words.settings.signIns;
  async function end(id: string): Promise<void> {
    const result = await client.revokeSignIn({ params: { id } });
    if (!result.ok) toasts.tell(sentenceOf(result.error));
    again();
  }
  return (
    <>
      <Part title={w.title} hint={w.hint} read={read}>
        {({ signIns }) => (
          <ul className="facts-list">
            {signIns.map(({ id, about, createdAt, current }) => (
              <li key={id}>
                <span>
                  {about === "" ? w.unknown : about}{" "}
                  <span className="quiet">
                    {w.since(momentOf(createdAt))}
                    {current && `, ${w.current}`}
                  </span>
                </span>
                {!current && (
                  <button type="button" className="button" onClick={() => void end(id)}>
                    {w.end}
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Part>
      <button type="button" className="button" onClick={() => void host.signOut()}>
        <span>{words.signIn.signOut}</span>
      </button>
    </>
  );
}
