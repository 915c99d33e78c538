/** A setting is unusable. The message names the setting and its expected form. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}
