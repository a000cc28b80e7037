import { useState } from "react";
import { chooseTheme, readTheme, themes } from "../ui/theme.ts";
import { words } from "../strings/strings.ts";

export function Appearance() {
  const [theme, setTheme] = useState(readTheme);
  return (
    <fieldset className="choices">
      <legend>{words.settings.theme}</legend>
      {themes.map((each) => (
        <label key={each} className="choice">
          <input
            type="radio"
            name="theme"
            value={each}
            checked={each === theme}
            onChange={() => {
              chooseTheme(each);
              setTheme(each);
            }}
          />
          <span>{words.settings.themes[each]}</span>
        </label>
      ))}
      <p className="quiet">{words.settings.themeHint}</p>
    </fieldset>
  );
}
