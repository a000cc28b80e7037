import { editorSetups } from "@holdfast/client";
import type { AllowedFolder } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { strings } from "../strings/strings.ts";
import { CopyButton } from "../ui/copy-and-save.tsx";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { SettingsGroup, useHostQuery } from "./settings-group.tsx";

const printCommand = "holdfast acp --setup";

/** How to connect an editor, and where its conversations may work. */
export function EditorSettings() {
  const t = strings.editors;
  return (
    <>
      <section className="settings-section">
        <h3>{t.title}</h3>
        <p className="quiet">{t.hint}</p>
        {editorSetups("holdfast", []).map(({ editor, place, text }) => (
          <Sample key={editor} caption={`${editor} (${place})`} text={text} />
        ))}
        <Sample caption={t.paths} text={printCommand} />
      </section>
      <Folders />
    </>
  );
}

function Sample({ caption, text }: { caption: string; text: string }) {
  return (
    <figure className="sample">
      <figcaption>
        {caption}
        <CopyButton text={text} label={strings.code.copy} />
      </figcaption>
      <pre dir="ltr">{text}</pre>
    </figure>
  );
}

/** Allowing one takes the token, which a page does not have. */
function Folders() {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.listFolders());
  const t = strings.editors;
  async function forget({ id, path }: AllowedFolder): Promise<void> {
    const result = await client.forgetFolder({ params: { id } });
    toasts.show(result.ok ? t.forgotten(path) : problemText(result.error));
    refetch();
  }
  return (
    <SettingsGroup title={t.folders} hint={t.foldersHint} query={query}>
      {({ roots, folders }) =>
        roots.length + folders.length === 0 ? (
          <p>{t.none}</p>
        ) : (
          <ul className="settings-cards">
            {roots.map((path) => (
              <li key={path} className="settings-card row">
                <code>{revealInvisible(path)}</code>
                <span className="quiet">{t.root}</span>
              </li>
            ))}
            {folders.map((folder) => (
              <li key={folder.id} className="settings-card row">
                <code>{revealInvisible(folder.path)}</code>
                <span className="spacer" />
                <button
                  type="button"
                  className="button"
                  aria-label={t.forgetNamed(folder.path)}
                  onClick={() => void forget(folder)}
                >
                  {t.forget}
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </SettingsGroup>
  );
}
