# A client as it was written for OpenCrowbar: Ruby, net/http and net-http-digest_auth.
#
#   ruby old_client.rb URL USER PASSWORD VERB PATH [FORM]
#
# Asks PATH three times over one digest object, which counts its requests from 0 and goes on
# counting when it is given another challenge. Prints a line for each: the count that was sent, the
# status, and the body on the last line.
require "net/http"
require "net/http/digest_auth"
require "uri"

base, user, password, verb, path, form = ARGV
uri = URI.parse(base + path)
uri.user, uri.password = user, password
digest = Net::HTTP::DigestAuth.new
classes = {"GET" => Net::HTTP::Get, "PUT" => Net::HTTP::Put, "POST" => Net::HTTP::Post}

Net::HTTP.start(uri.host, uri.port, read_timeout: 30) do |http|
  challenge = http.request(classes[verb].new(uri.request_uri))["www-authenticate"]
  3.times do
    authorization = digest.auth_header(uri, challenge, verb)
    request = classes[verb].new(uri.request_uri)
    request["Authorization"] = authorization
    request.set_form_data(URI.decode_www_form(form).to_h) if form
    answer = http.request(request)
    puts "#{authorization[/nc=(\h+)/, 1]} #{answer.code}"
    @body = answer.body
  end
end
puts @body
