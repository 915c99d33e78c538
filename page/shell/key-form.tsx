import { useState } from 'preact/hooks'
import { keepKey, readKey } from './api.ts'

/** Asks for an API key, which is kept in this tab only. */
export function KeyForm() {
  const [key, setKey] = useState('')
  const refused = readKey() !== undefined
  return (
    <main class="key-form">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          keepKey(key.trim())
        }}
      >
        <h1>Tooltrail</h1>
        <p>
          {refused ? 'This key is not known here.' : 'This server asks for an API key.'} It is kept in this tab only,
          and forgotten when you close it.
        </p>
        <p class="quiet">
          Whoever runs the server makes one with{' '}
          <code>npm run keys -- create --tenant default --scope read --scope write</code>.
        </p>
        <label>
          API key
          <input
            type="password"
            autocomplete="off"
            placeholder="tt_…"
            value={key}
            ref={(element) => element?.focus()}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={key.trim() === ''}>
          Open
        </button>
      </form>
    </main>
  )
}
