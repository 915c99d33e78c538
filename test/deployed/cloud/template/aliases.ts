interface Raw {
  readonly Resources: Readonly<
    Record<string, { readonly Type: string; readonly Properties?: Readonly<Record<string, unknown>> }>
  >
}

/** The template with each function in the place of its alias: here there is one version of it, the newest. */
export function withoutAliases(template: Raw): Raw {
  const aliases = Object.entries(template.Resources).filter(([, { Type }]) => Type === 'AWS::Lambda::Alias')
  const text = aliases.reduce((all, [id, { Properties = {} }]) => {
    const { Ref } = Properties['FunctionName'] as { readonly Ref: string }
    // What `Ref` gives of an alias is an ARN; whoever needs the name alone takes it from there, and adds that of the alias.
    const named = all.replaceAll(`":${String(Properties['Name'])}"`, '""')
    return named.replaceAll(`{"Ref":"${id}"}`, `{"Fn::GetAtt":["${Ref}","Arn"]}`)
  }, JSON.stringify(template))
  const { Resources, ...rest } = JSON.parse(text) as Raw
  const others = Object.entries(Resources).filter(([, { Type }]) => Type !== 'AWS::Lambda::Alias')
  return { ...rest, Resources: Object.fromEntries(others) }
}
