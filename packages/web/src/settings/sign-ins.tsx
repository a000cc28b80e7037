import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";
import { SettingsGroup } from "./part.tsx";
import { useHostQuery } from "./settings-group.tsx";

/** Who is signed in, where; each can be ended at once, with the streams that hang on it. */
export function SignInList() {
  const { client, host, toasts } = useApp();
  const [read, again] = useHostQuery(() => client.listSignIns());
  const w = strings.settings.signIns;
  async function end(id: string): Promise<void> {
    const result = await client.revokeSignIn({ params: { id } });
    if (!result.ok) toasts.show(problemText(result.error));
    again();
  }
  return (
    <>
      <SettingsGroup title={w.title} hint={w.hint} read={read}>
        {({ signIns }) => (
          <ul className="facts-list">
            {signIns.map(({ id, about, createdAt, current }) => (
              <li key={id}>
                <span>
                  {about === "" ? w.unknown : about}{" "}
                  <span className="quiet">
                    {w.since(formatMoment(createdAt))}
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
      </SettingsGroup>
      <button type="button" className="button" onClick={() => void host.signOut()}>
        <span>{strings.signIn.signOut}</span>
      </button>
    </>
  );
}
