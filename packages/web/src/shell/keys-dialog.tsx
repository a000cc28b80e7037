import { Dialog } from "../ui/dialog.tsx";
import { strings } from "../strings/strings.ts";

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** `Ctrl` as the keyboard in front of the person labels it. */
function keyLabel(key: string): string {
  return isApple ? key.replace("Ctrl", "⌘").replace("Alt", "⌥") : key;
}

/** Every key that the page knows. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={strings.keys.title} onClose={onClose}>
      {strings.keys.groups.map(({ title, keys }) => (
        <section key={title} className="key-group">
          <h3>{title}</h3>
          <dl>
            {keys.map(([combination, effect]) => (
              <div key={combination}>
                <dt>
                  {combination.split(" ").map((key) => (
                    <kbd key={key}>{keyLabel(key)}</kbd>
                  ))}
                </dt>
                <dd>{effect}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
